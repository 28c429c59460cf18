/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A study as jobs: on this machine, and on a real Slurm of two nodes where its packages are
 * installed. */
#include "tests/cli/program.h"

#include <sys/stat.h>

static const char study[] = "schema: perp-study/1\n"
                            "study: { name: jobs }\n"
                            "scene: pendulum\n"
                            "t_end: 0.1 s\n"
                            "formulation: acceleration\n"
                            "grid:\n"
                            "  h: [4 ms, 2 ms, 1 ms]\n"
                            "  ode: [rk4, midpoint, euler]\n"
                            "  stab: [none, \"baumgarte:alpha=[20, 40]\"]\n"
                            "measure: { repeats: 1 }\n"
                            "metrics: { primary: err.q.max, record: [err.q.max, drift.pos.max, "
                            "steps], series: { every: 10 ms } }\n";

/* Cells of a tenth of a second or more: a node can be lost while it is at work. */
static const char slow[] = "schema: perp-study/1\n"
                           "study: { name: slow }\n"
                           "scene: pendulum\n"
                           "t_end: 50 s\n"
                           "formulation: acceleration\n"
                           "grid:\n"
                           "  h: [0.25 ms, 0.2 ms]\n"
                           "  ode: [rk4, midpoint, euler]\n"
                           "  stab: [none, \"baumgarte:alpha=[20, 40]\"]\n"
                           "measure: { repeats: 0 }\n"
                           "metrics: { primary: err.q.max, record: [err.q.max, steps] }\n";

static void test_parallel(void)
{
  write_file("jobs.yaml", study);
  ok(run("run jobs.yaml -o local -q --no-report -j 2") == 0, "a local run");
  says("cluster parallel jobs.yaml -o par --tasks 4", "27 runs in 4 task(s) of 1 job(s) each");
  ok(!perp_exists("par/journal") && perp_exists("par/cluster/task.sh"),
     "by default only scripts are written");
  ok(system("sh par/cluster/start.sh >start.txt 2>&1") == 0, "start.sh runs them");
  ok(same_file("local/derived/cells.csv", "par/derived/cells.csv"),
     "the same cells.csv, byte for byte");
  ok(perp_exists("par/report.html") && file_has("start.txt", "par/report.html"),
     "the end makes the report");
  if (system("rm -r par/derived") != 0) bail("rm");
  ok(run("run par/cluster/study.yaml --shard 1/4 --journal-only -q -o par") == 0 &&
         !perp_exists("par/derived/cells.csv"),
     "a task writes no tables");
  ok(system("sh par/cluster/start.sh >start.txt 2>&1") == 0 && perp_exists("par/derived/cells.csv"),
     "started again there is nothing to do but tables and report");
  says("status par --tasks 4", "");
  ok(out[0] == '\0', "no task is left");
  refuses(3, "run jobs.yaml --set 't_end=0.2 s' --shard 1/4 --journal-only -q -o par",
          "has the plan of another study");
  says("cluster parallel jobs.yaml -o par2 --target-time 1h --submit",
       "27 runs in 1 task(s) of about");
  ok(same_file("local/derived/cells.csv", "par2/derived/cells.csv"),
     "--submit, with tasks of a wanted length");
  says("cluster parallel jobs.yaml -o par3 --tasks 1000 --set measure.repeats=0",
       "27 runs in 27 task(s)");
  refuses(2, "cluster pbs jobs.yaml", "neither slurm nor parallel");
  refuses(2, "cluster slurm", "an argument is missing");
  refuses(2, "cluster slurm jobs.yaml --tasks 0", "--tasks: '0' is not a whole number");
  refuses(2, "cluster slurm jobs.yaml --target-time 5", "needs a unit");
  refuses(2, "cluster slurm jobs.yaml --submit --write-only", "contradict");
  refuses(2, "cluster slurm jobs.yaml --partition 'a b'", "is not a valid Slurm name");
  refuses(2, "cluster slurm jobs.yaml --memory 2GiB", "a number with K, M, G or T");
  refuses(2, "cluster slurm jobs.yaml --array-limit 0", "not a whole number");
  refuses(2, "cluster parallel jobs.yaml --time 30m", "--time is an option of perp cluster slurm");
  refuses(3, "cluster slurm nowhere.yaml", "cannot read");
}

static bool queue_ends(void)
{
  bool done = false;
  for (int k = 0; k < 1500 && !done; k++) {
    usleep(200000);
    /* a controller that is too busy to answer is no empty queue */
    done = system("q=$(squeue -h 2>/dev/null) && test -z \"$q\"") == 0;
  }
  return done;
}

/* The tasks of a node that never returns are submitted again by the command that has submitted all.
 */
static void test_lost_node(void)
{
  write_file("slow.yaml", slow);
  ok(run("run slow.yaml -o slow-local -q --no-report -j 2") == 0, "a local run of longer cells");
  says("cluster slurm slow.yaml -o lost --tasks 6 --partition main --memory 500M --time 10m "
       "--array-limit 4",
       "18 runs in 6 task(s)");
  ok(system("sh lost/cluster/start.sh >lost.txt 2>&1") == 0 &&
         file_has("lost.txt", "6 tasks in 2 arrays of at most 4"),
     "more tasks than an array may have: several arrays, and advice");
  char *lose = perp_xprintf("bash '%s/tests/cli/slurm-local.sh' lose node n2 >>lost.txt 2>&1",
                            getenv("PERP_HOME"));
  bool both = false; /* at work, with a cell done somewhere */
  for (int k = 0; k < 600 && !both; k++) {
    usleep(50000);
    both = system("test \"$(squeue -h -t R -o %N 2>/dev/null | sort -u | wc -l)\" = 2 && "
                  "grep -q '\"event\": \"cell\"' lost/journal/*.jsonl 2>/dev/null") == 0;
  }
  ok(both && system(lose) == 0, "one node of two is lost while both are at work");
  free(lose);
  ok(queue_ends() && file_has("lost/cluster/log/end.out", "not complete; submit them again"),
     "the end says what is missing, and the command");
  run("status lost --tasks 6");
  const bool some = out[0] != '\0' && strstr(out, "1\n2\n3\n4\n5\n6\n") == NULL;
  ok(some && system("sh lost/cluster/start.sh >again.txt 2>&1") == 0,
     "that one command submits the missing tasks as an array, and no other");
  ok(queue_ends() && run("status lost --tasks 6") == 0 && out[0] == '\0' &&
         perp_exists("lost/report.html") &&
         same_file("slow-local/derived/cells.csv", "lost/derived/cells.csv"),
     "the same cells.csv as the local run, byte for byte");
}

static void test_slurm(void)
{
  says("cluster slurm jobs.yaml -o slurm --tasks 2", "27 runs in 2 task(s)");
  says(
      "cluster slurm jobs.yaml -o words --tasks 5 --partition p --account a --memory 2G --time 30m "
      "--array-limit 500 --at-once 7 --container 'apptainer exec perp.sif'",
      "27 runs in 5 task(s)");
  ok(file_has("words/cluster/start.sh",
              "--cpus-per-task=1 --time=30 --partition=p --account=a --mem=2G") &&
         file_has("words/cluster/start.sh", "most=500") &&
         file_has("words/cluster/start.sh", "--array=\"1-$n%7\"") &&
         file_has("words/cluster/task.sh", "exec apptainer exec perp.sif perp run "),
     "what the cluster is told: partition, account, memory, time, arrays, container");
  const char *needed = "command -v slurmctld slurmd sbatch munged >/dev/null 2>&1";
  if (geteuid() != 0 || system(needed) != 0) {
    skip("no slurmctld, slurmd, slurm-client, munge, or not root",
         "two tasks on two nodes of Slurm");
    return;
  }
  char *up = perp_xprintf("bash '%s/tests/cli/slurm-local.sh' up node 2 1 >slurm.txt 2>&1",
                          getenv("PERP_HOME"));
  char *down = perp_xprintf("bash '%s/tests/cli/slurm-local.sh' down node >>slurm.txt 2>&1",
                            getenv("PERP_HOME"));
  char *conf = perp_xprintf("%s/node/slurm.conf", program_dir);
  setenv("SLURM_CONF", conf, 1);
  if (chmod(program_dir, 0755) != 0) bail("chmod"); /* munge asks for it */
  if (!ok(system(up) == 0 && system("test \"$(sinfo -h -N -t idle | wc -l)\" = 2") == 0,
          "a Slurm of two nodes starts")) {
    char *said = perp_read_file("slurm.txt", NULL);
    printf("# %.1000s\n", said);
    free(said);
  } else {
    ok(system("sh slurm/cluster/start.sh >>slurm.txt 2>&1") == 0, "the jobs are submitted");
    const bool done = queue_ends();
    ok(done && perp_exists("slurm/report.html"), "they end, and the report is there");
    ok(system("grep -h NodeList= node/log/jobcomp.txt | grep -o 'NodeList=n[12]' | sort -u | wc -l "
              "| grep -q 2") == 0,
       "both nodes had a part");
    ok(same_file("local/derived/cells.csv", "slurm/derived/cells.csv"),
       "the same cells.csv as the local run, byte for byte");
    test_lost_node();
  }
  if (system(down) != 0) printf("# Slurm did not stop\n");
  usleep(500000);
  free(up);
  free(down);
  free(conf);
}

int main(void)
{
  program_open();
  test_parallel();
  test_slurm();
  program_close();
  return tap_done();
}
