"""Who talks: scenario files, the shipped towns, and the logs of Generative Agents runs. Imports only `state`."""
