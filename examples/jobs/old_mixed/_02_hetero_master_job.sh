#!/bin/sh
#SBATCH --nodes=1
#SBATCH --partition=gpu1
#SBATCH --gres=gpu:a100:4
#SBATCH --time=02:00:00
GRES="gpu:a100:4"
. _00_conf.sh
srun --gres=$GRES ./_01_run_inter.sh
