"""Runs llama.cpp's server, as xllamacpp has it, on a port of this machine: `python llama.py FILE.gguf PORT`."""

import sys
import threading

import xllamacpp

given = xllamacpp.CommonParams()
given.model.path, given.port = sys.argv[1], int(sys.argv[2])
given.n_ctx = 4096
given.n_parallel = 1  # requests side by side would change each other's digits
given.cpuparams.n_threads = given.cpuparams_batch.n_threads = 1
server = xllamacpp.Server(given)
threading.Event().wait()
