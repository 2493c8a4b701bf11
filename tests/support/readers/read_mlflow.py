"""Read a folder with MLflow, and print its experiments and runs as JSON."""

import json
import sys
from pathlib import Path

from mlflow.tracking import MlflowClient

client = MlflowClient(tracking_uri=Path(sys.argv[1]).resolve().as_uri())
document = {}
for experiment in client.search_experiments():
    runs = client.search_runs([experiment.experiment_id])
    document[experiment.name] = [
        {
            "name": run.info.run_name,
            "status": run.info.status,
            "parameters": run.data.params,
            "metrics": run.data.metrics,
            "removed": [[at.step, at.value] for at in client.get_metric_history(run.info.run_id, "turn.removed_units")],
            "tags": run.data.tags,
            "artifacts": [file.path for file in client.list_artifacts(run.info.run_id)],
        }
        for run in runs
    ]
print(json.dumps(document))
