"""Read a folder with Hugging Face's datasets, and print the rows of each configuration as JSON."""

import json
import sys

from datasets import get_dataset_config_names, load_dataset

folder, cache = sys.argv[1:]
names = get_dataset_config_names(folder)
print(json.dumps({name: load_dataset(folder, name, split="train", cache_dir=cache).to_list() for name in names}))
