# For scripts that measure with our build: `source` it with their arguments BUILD [FOLDER]. It sets $nadi and $here, the folder
# of the script, and enters $folder: FOLDER, or a temporary one that is removed at the end.
here=$(realpath "$(dirname "$0")") nadi=$(realpath "$1/src/cli/nadi") folder=${2:-}
[ -x "$nadi" ] || { echo "error: $nadi: not built" >&2; exit 4; }
if [ -z "$folder" ]; then
  folder=$(mktemp -d)
  trap 'rm -rf "$folder"' EXIT
fi
mkdir -p "$folder"
cd "$folder"
