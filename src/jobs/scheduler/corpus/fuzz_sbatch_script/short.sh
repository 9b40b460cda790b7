#SBATCH -N4 --gres=gpu:a10:4 --nodes 4
#SBATCH -p "gpu2" hetjob
export MASTER_ADDR='1.2.3.4'
GRES=gpu:4
