#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# One-machine Slurm 22.05 (Debian 12) without systemd, cgroups or slurmdbd. Run as root.
#   apt-get install -y --no-install-recommends slurmctld slurmd slurm-client munge
#   ./slurm-local.sh up   DIR [NODES] [CPUS_PER_NODE]   then: export SLURM_CONF=DIR/slurm.conf
#   ./slurm-local.sh lose DIR NODE                      the node is gone at once with all that runs on it, and stays away
#   ./slurm-local.sh down DIR
set -eu
cmd=$1; D=$(realpath -m "$2"); N=${3:-1}; C=${4:-$(nproc)}; H=$(hostname -s); export SLURM_CONF=$D/slurm.conf
case $cmd in
up) mkdir -p "$D"/{munge,state,log}; chmod 755 "$D"; chmod 711 "$D/munge"
  [ -f "$D/munge/key" ] || { dd if=/dev/urandom of="$D/munge/key" bs=1 count=128 status=none; chmod 400 "$D/munge/key"; }
  cat > "$SLURM_CONF" <<EOC
ClusterName=local
SlurmctldHost=$H(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
CryptoType=crypto/munge
AuthInfo=socket=$D/munge/sock
SlurmctldPort=16817
StateSaveLocation=$D/state
SlurmdSpoolDir=$D/spool.%n
SlurmctldPidFile=$D/slurmctld.pid
SlurmdPidFile=$D/slurmd.%n.pid
SlurmctldLogFile=$D/log/slurmctld.log
SlurmdLogFile=$D/log/slurmd.%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/affinity
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=1
JobAcctGatherParams=OverMemoryKill
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/filetxt
JobCompLoc=$D/log/jobcomp.txt
SchedulerType=sched/backfill
SchedulerParameters=defer
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SwitchType=switch/none
MpiDefault=none
MailProg=/bin/true
ReturnToService=2
JobRequeue=0
MaxArraySize=10001
MaxJobCount=20000
KillWait=5
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
EOC
  M=$(( ($(free -m | awk '/^Mem/{print $2}') - 1000) / N ))
  for i in $(seq "$N"); do mkdir -p "$D/spool.n$i"; echo "NodeName=n$i NodeHostname=$H NodeAddr=127.0.0.1 Port=$((16820+i)) CPUs=$C Boards=1 SocketsPerBoard=1 CoresPerSocket=$C ThreadsPerCore=1 RealMemory=$M" >> "$SLURM_CONF"; done
  munged --key-file="$D/munge/key" --socket="$D/munge/sock" --pid-file="$D/munge/pid" --log-file="$D/munge/log" --seed-file="$D/munge/seed" --num-threads=2
  slurmctld -f "$SLURM_CONF"
  for i in $(seq "$N"); do slurmd -f "$SLURM_CONF" -N "n$i"; done
  for t in $(seq 300); do [ "$(sinfo -h -N -t idle | wc -l)" = "$N" ] && break; sleep 0.2; done; sinfo -N ;;
lose) kill -9 "$(cat "$D/slurmd.$N.pid")"; rm -f "$D/slurmd.$N.pid"
  for e in $(grep -lsxz "SLURMD_NODENAME=$N" /proc/[0-9]*/environ || true); do
    p=${e#/proc/}
    grep -qsxz "SLURM_CONF=$SLURM_CONF" "$e" && kill -9 "${p%/environ}" 2>/dev/null || true
  done
  scontrol update "NodeName=$N" State=DOWN Reason=lost ;;
down) for f in "$D"/slurmd.*.pid "$D/slurmctld.pid" "$D/munge/pid"; do [ -f "$f" ] && kill "$(cat "$f")" 2>/dev/null || true; done ;;
esac
