#!/usr/bin/env bash
# Settings files and sbatch scripts of the modified Megatron-LM on a real Slurm of eight virtual nodes: `nadi job submit
# --from CONF --script JOB` with a tiny model in place of GPT-2 XL, homogeneous and as master and slaves. Each job
# trains, and its report says that the settings in effect are those that were asked for.
#   settings_test.sh <nadi> [folder that keeps all files]      # two jobs
#   NADI_ALL_SETTINGS=1 settings_test.sh <nadi>                # ten settings files, each as both
set -uo pipefail
here=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
keep=${2:+$(realpath -m "$2")}
source "$here/../program_test.sh"
needs python3
if ! reason=$("$here/cluster" possible); then
  echo "skipped: $reason" >&2
  exit 77
fi
slurm=$(mktemp -d -u /tmp/nadi-slurm.XXXXXX)
clean_up() {
  "$here/cluster" stop "$slurm" >/dev/null 2>&1
  [[ -z $keep ]] || cp -a "$work" "$keep"
  rm -rf "$work"
}
trap clean_up EXIT
begin=$SECONDS
"$here/cluster" start "$slurm" 8 >/dev/null || { fail "no cluster"; finish; }
source "$slurm/env"
export NO_COLOR=1 NADI_THREADS=1 XL=tiny.json
# Eight "nodes" that are one machine would give files of shared memory the same names.
export OMPI_MCA_pml=ob1 OMPI_MCA_btl=tcp,self
echo "cluster: $((SECONDS - begin)) s"

# Eight layers; the guide's file says 'xl'.
echo '{"model_type": "gpt2", "vocab_size": 4096, "n_positions": 64, "n_ctx": 64, "n_embd": 32, "n_layer": 8, "n_head": 2}' >tiny.json

# conf NUMBER: the settings file, by the guide and in nine other forms.
conf() {
  case $1 in
    1) cat <<'CONF'
.
.
.
HOMOGENEOUS_CLUSTER=true # true | false
MODEL='tiny.json' # 'small' or 'xl'
NPROC_PER_NODE=1 # GPUs of a node
NNODES=8 # nodes
WORLD_SIZE=$((NPROC_PER_NODE * NNODES))
GLOBAL_BATCH_SIZE=4
MICRO_BATCH_SIZE=1
TENSOR_MP_SIZE=1
DP_SIZE=1
PIPELINE_MP_SIZE=8
PARTITION="0-2-1-1-1-2-1-0"
NSYS=false # Nsight Systems
PROFILE=false # for the page of the ranks
MASTER_PORT=6787 
RELOAD_CONTAINER=false # containers
TRAIN_ITERS=4
LOG_INTERVAL=2
SEQ_LENGTH=16
DEVICE=cpu
CONF
    ;;
    2) conf 1 | grep -v '^WORLD_SIZE' | tac; echo 'WORLD_SIZE=$((NNODES*NPROC_PER_NODE))' ;; # in another order
    3) conf 1 | sed -e 's/^[A-Z]/  &/' -e 's/ #.*//' -e 's/$/ \t /' ;;                       # spaces, no comments
    4) conf 1 | sed -e "s/'tiny.json'/\"tiny\"'.json'/" -e 's/^\([A-Z_]*\)=\([0-9a-z][0-9a-z]*\) */export \1="\2" /' ;; # quotes, export
    5) conf 1 | sed -e 's/^DP_SIZE=.*/DP_SIZE=$(( ${WORLD_SIZE} \/ 8 ))/' -e 's/^NNODES=.*/NODES=8; NNODES=${NODES}/' \
      -e 's/^MODEL=.*/MODEL=${XL}/' ;;                                                       # references
    6) conf 1 | sed -e 's/^NSYS/# a comment\n\n#NNODES=2\n&/' -e 's/$/\r/' ;;                 # comments, ends of lines
    7) conf 1 | sed -e 's/^NNODES=8/NNODES=4/' -e 's/^NPROC_PER_NODE=1/NPROC_PER_NODE=2/' -e 's/^DP_SIZE=1/DP_SIZE=2/' \
      -e 's/^PIPELINE_MP_SIZE=8/PIPELINE_MP_SIZE=4/' -e 's/^PARTITION=.*/PARTITION=[1,3,3,1]/' ;; # other sizes
    8) conf 1 | sed -e 's/^NNODES=8/NNODES=4/' -e 's/^TENSOR_MP_SIZE=1/TENSOR_MP_SIZE=2/' -e 's/^MICRO_BATCH_SIZE=1/MICRO_BATCH_SIZE=2/' \
      -e 's/^PIPELINE_MP_SIZE=8/PIPELINE_MP_SIZE=2/' -e 's/^PARTITION=.*/PARTITION="5-3"/' ;;  # tensor-parallel
    9) conf 1 | sed -e 's/^PARTITION=.*/PARTITION=1-2-1-1-1-2-1-1/' ;;                       # embedding and head count
    10) conf 1 | sed -e 's/^MODEL=.*/SIZE=xl\ncase $SIZE in small) MODEL=gpt2 ;; xl) MODEL=tiny.json ;; esac/' \
      -e 's/^GLOBAL_BATCH_SIZE=4/if [ "$NNODES" -gt 4 ]; then GLOBAL_BATCH_SIZE=$((2 * 4)); else GLOBAL_BATCH_SIZE=1; fi/' \
      -e 's/^PROFILE=false/PROFILE=true/' ;;                                                 # conditions, traced
  esac
}

# script NAME NODES PARTITION GRES [MASTER_ADDR]: an sbatch script of the guide's shape
script() {
  cat >"$1" <<SCRIPT
#!/bin/sh
#SBATCH --nodes=$2
#SBATCH --partition=$3
#SBATCH --gres=$4
#SBATCH --time=10
...
#************************************************************
GRES="$4"
. _00_conf.sh
#************************************************************
...
# get_master_adress
MASTER_ADDR=${5:-\$(hostname -I)}
srun --gres=\$GRES ./_01_run_inter.sh
...
SCRIPT
}

ids=() names=()
# submit NUMBER homo|hetero
submit() {
  local folder=conf$1.$2 nodes ranks scripts
  mkdir "$folder"
  cp tiny.json "$folder"
  conf "$1" >"$folder/_00_conf.sh"
  nodes=8 ranks=1
  case $1 in 7) nodes=4 ranks=2 ;; 8) nodes=4 ;; esac
  if [[ $2 == homo ]]; then
    script "$folder/_02_homo_job.sh" "$nodes" all "gpu:$ranks"
    scripts=(--script _02_homo_job.sh)
  else
    sed -i 's/HOMOGENEOUS_CLUSTER=["]*true/HOMOGENEOUS_CLUSTER=false/; s/CLUSTER=false"/CLUSTER=false/' "$folder/_00_conf.sh"
    script "$folder/_02_hetero_master_job.sh" $((nodes == 8 ? 4 : 1)) fast "gpu:a100:$ranks"
    script "$folder/_02_hetero_slave_job.sh" $((nodes == 8 ? 4 : 3)) slow "gpu:a10:$ranks" "'127.0.0.1'"
    scripts=(--script _02_hetero_master_job.sh --script _02_hetero_slave_job.sh)
  fi
  if ! (cd "$folder" && "$nadi" job submit --from _00_conf.sh "${scripts[@]}" --json) >submit.out 2>submit.err; then
    fail "$folder was not submitted: $(cat submit.err)"
    return
  fi
  ids+=("$(python3 -c 'import json; print(json.load(open("submit.out"))["id"])')")
  names+=("$folder")
}

# judge ID FOLDER: done, and its settings are in effect, by job.json and by the settings file
judge() {
  local end=$((SECONDS + 120))
  until [[ $(squeue -h -t all -j "$1" -o %T | sort -u) == COMPLETED ]]; do
    if ((SECONDS > end)) || squeue -h -t all -j "$1" -o %T | grep -qE 'FAILED|CANCELLED|TIMEOUT'; then
      fail "$2 did not end well: $(tail -n 3 "$2/jobs/$1"/*.err "$2/jobs/$1"/slurm.txt)"
      return
    fi
    sleep 0.2
  done
  (cd "$2" && "$nadi" job report "$1") >report || { fail "$2: no report"; return; }
  grep -qE '^settings +[1-9][0-9]* asked for: [1-9][0-9]* in effect, 0 not as asked for, 0 printed by no node$' report ||
    fail "$2: $(grep '^settings' report)"
  (cd "$2" && "$nadi" job report "$1" --from _00_conf.sh --json) >report.json 2>report.err || fail "$2: $(cat report.err)"
  python3 - "$2" <<'PYTHON' || fail "$2: settings"
import json, sys
rows = {row["name"]: row for row in json.load(open("report.json"))["settings"] if row["asked"] is not None}
for row in rows.values():
    if row["differs"]: sys.exit("%s: %s" % (sys.argv[1], row))
# What the training itself says, not only the script.
for name in ("GLOBAL_BATCH_SIZE", "MICRO_BATCH_SIZE", "TENSOR_MP_SIZE", "DP_SIZE", "PIPELINE_MP_SIZE", "PARTITION",
             "MODEL", "WORLD_SIZE"):
    if not any(value["by"] == "program" for value in rows[name]["in_effect"]): sys.exit("%s: nobody says %s" % (sys.argv[1], name))
silent = {name for name, row in rows.items() if not row["in_effect"]} - {"RELOAD_CONTAINER", "XL", "NODES", "SIZE"}
if silent: sys.exit("%s: nobody prints %s" % (sys.argv[1], silent))
PYTHON
  (cd "$2" && "$nadi" job watch "$1" --all --from _00_conf.sh) >watched 2>watched.err || fail "$2 is not well: $(cat watched watched.err)"
  for line in 'last output message' 'last error message' 'last gpu message' "job info job $1" 'iteration time' \
    '^iteration 4 : [0-9.]* s' '^rule 1 scheduler *good' '^rule 3 errors *good' '^rule 4 settings *good'; do
    grep -q -- "$line" watched || fail "$2: watch --all lacks '$line': $(cat watched)"
  done
}

submit 1 homo
submit 7 hetero
if [[ -n ${NADI_ALL_SETTINGS:-} ]]; then
  submit 1 hetero
  submit 7 homo
  for number in 2 3 4 5 6 8 9 10; do
    submit "$number" homo
    submit "$number" hetero
  done
fi
for i in "${!ids[@]}"; do
  judge "${ids[i]}" "${names[i]}"
  echo "$((SECONDS - begin)) s: ${names[i]}, job ${ids[i]}"
done
# Rank 0 is on a node of the master's partition, at the address that the slaves' script names.
grep -q '^MASTER_ADDR: 127.0.0.1$' "conf7.hetero/jobs/${ids[1]}/n1.out" || fail "the master's address"
grep -q '^NODE_RANK: 0$' "conf7.hetero/jobs/${ids[1]}"/n[1-4].out || fail "rank 0 is not on the master"
if [[ -n ${NADI_ALL_SETTINGS:-} ]]; then # PROFILE=true made what the page of the ranks is drawn from
  for i in "${!ids[@]}"; do
    [[ ${names[i]} == conf10.homo ]] || continue
    (cd conf10.homo && "$nadi" job report "${ids[i]}" --output ranks.html) >report || fail "no page: $(cat report)"
    [[ -n $(ls "conf10.homo/jobs/${ids[i]}/trace") ]] || fail "no traces"
  done
fi
finish
