#!/bin/sh
#SBATCH --nodes=7
#SBATCH --partition=gpu2
#SBATCH --gres=gpu:a10:4
#SBATCH --time=02:00:00
GRES="gpu:a10:4"
. _00_conf.sh
MASTER_ADDR='192.168.120.60'
srun --gres=$GRES ./_01_run_inter.sh
