"""The judging of collectives between GPUs: an output of nccl-tests or rccl-tests, against what is possible."""
