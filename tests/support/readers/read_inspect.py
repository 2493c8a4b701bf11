"""Read a log with Inspect, and print what is in it as JSON."""

import json
import sys

from inspect_ai.log import read_eval_log, read_eval_log_sample_summaries

log = read_eval_log(sys.argv[1])
document = {
    "status": log.status,
    "task": log.eval.task,
    "model": log.eval.model,
    "summaries": [summary.id for summary in read_eval_log_sample_summaries(sys.argv[1])],
    "means": {score.name: score.metrics["mean"].value for score in log.results.scores},
    "samples": [
        {
            "id": sample.id,
            "metadata": sample.metadata,
            "said": [[message.metadata["speaker"], message.text] for message in sample.messages],
            "scores": {name: score.value for name, score in sample.scores.items()},
            "calls": [
                [
                    event.model,
                    event.role,
                    event.input[-1].text,
                    event.output.completion,
                    event.output.usage.output_tokens,
                ]
                for event in sample.events
                if event.event == "model"
            ],
            "lines": [event.data for event in sample.events if event.event == "info"],
            "spans": [event.name for event in sample.events if event.event == "span_begin"],
            "tokens": {model: usage.total_tokens for model, usage in sample.model_usage.items()},
        }
        for sample in log.samples
    ],
}
print(json.dumps(document))
