#!/bin/sh
#SBATCH -J gpt2xl
#SBATCH --time=02:00:00
#SBATCH --nodes=8
#SBATCH --ntasks-per-node=1
#SBATCH --gres=gpu:a10:4
#SBATCH --cpus-per-task=32
#SBATCH -p a10
#SBATCH -o ./log2/%j/slurm.out
. ./_00_conf.sh
