#!/bin/bash
# sbatch configs/cluster/slurm.sh: one node for each shard; the trainer runs on the first.
# A job that Slurm ends is continued with: parcade resume --cluster auto
#SBATCH --job-name=parcade
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=16
#SBATCH --time=12:00:00
set -euo pipefail

export RAY_USAGE_STATS_ENABLED=0
nodes=($(scontrol show hostnames "$SLURM_JOB_NODELIST"))
head=${nodes[0]}
address=$(srun --nodes=1 --ntasks=1 -w "$head" hostname --ip-address | awk '{print $1}')
port=6379

srun --nodes=1 --ntasks=1 -w "$head" \
    ray start --head --node-ip-address="$address" --port=$port --num-cpus="$SLURM_CPUS_PER_TASK" \
    --include-dashboard=false --block &
sleep 15
for node in "${nodes[@]:1}"; do
    srun --nodes=1 --ntasks=1 -w "$node" \
        ray start --address="$address:$port" --num-cpus="$SLURM_CPUS_PER_TASK" --block &
done
sleep 15

srun --overlap --nodes=1 --ntasks=1 -w "$head" \
    parcade train --shards "${#nodes[@]}" --cluster "$address:$port" --plain --log-root results
