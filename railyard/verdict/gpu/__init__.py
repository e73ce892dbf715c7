"""The judging of collectives between GPUs: what an output of nccl-tests or rccl-tests says, against what is possible."""
