#!/bin/sh
# One part of a study's runs, as a job of a Slurm array: sbatch --array=1-8 study.sh ID-OR-FILE [OPTIONS OF evenair study]
# All jobs write finished runs below one folder (evenair-results); the same command without --shard then finds them there.
#SBATCH --cpus-per-task=4
#SBATCH --time=01:00:00
set -eu
export RAYON_NUM_THREADS="${SLURM_CPUS_PER_TASK:-4}"
exec evenair study "$@" --shard "${SLURM_ARRAY_TASK_ID:?submit it with --array=1-N}/${SLURM_ARRAY_TASK_COUNT:?}"
