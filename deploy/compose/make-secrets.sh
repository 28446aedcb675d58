#!/bin/sh
# Makes the secrets of docker-compose.yml that are missing, and changes none that is there.
# The folder keeps others on this machine out; the files can be read by the users of the containers.
set -eu
folder="$(dirname "$0")/secrets"
mkdir -p "$folder/accounts" "$folder/desk"
chmod 711 "$folder/accounts" "$folder/desk"
chmod 700 "$folder"

random() { head -c 32 /dev/urandom | base64 | tr '+/' '-_' | tr -d '=\n'; }

make() {
  if [ -e "$folder/$1" ]; then
    echo "kept $folder/$1"
  else
    printf '%s%s\n' "$2" "$(random)" > "$folder/$1"
    chmod 444 "$folder/$1"
    echo "made $folder/$1"
  fi
}

make postgres_password ''
make sealing_keys 'k1:'
make webhook_keys 'w1:'
make payload_keys 'p1:'
make desk_keys 'd1:'
