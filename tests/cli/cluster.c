/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A study as jobs: on this machine, and on a real Slurm of two nodes where its packages are installed. */
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

static void test_parallel(void)
{
  write_file("jobs.yaml", study);
  ok(run("run jobs.yaml -o local -q --no-report -j 2") == 0, "a local run");
  says("cluster parallel jobs.yaml -o par --tasks 4", "27 cells in 4 task(s) of 1 job(s) each");
  ok(!perp_exists("par/journal") && perp_exists("par/cluster/task.sh"),
     "by default only scripts are written");
  ok(system("sh par/cluster/start.sh >start.txt 2>&1") == 0, "start.sh runs them");
  ok(same_file("local/derived/cells.csv", "par/derived/cells.csv"),
     "the same cells.csv, byte for byte");
  ok(perp_exists("par/report.html") && file_has("start.txt", "27 finished before, 0 to run"),
     "the end found nothing to do but the report");
  says("cluster parallel jobs.yaml -o par2 --target-time 1h --submit",
       "27 cells in 1 task(s) of about");
  ok(same_file("local/derived/cells.csv", "par2/derived/cells.csv"),
     "--submit, with tasks of a wanted length");
  says("cluster parallel jobs.yaml -o par3 --tasks 1000 --set measure.repeats=0",
       "27 cells in 27 task(s)");
  refuses(2, "cluster pbs jobs.yaml", "neither slurm nor parallel");
  refuses(2, "cluster slurm", "an argument is missing");
  refuses(2, "cluster slurm jobs.yaml --tasks 0", "--tasks: '0' is not a whole number");
  refuses(2, "cluster slurm jobs.yaml --target-time 5", "needs a unit");
  refuses(2, "cluster slurm jobs.yaml --submit --write-only", "contradict");
  refuses(3, "cluster slurm nowhere.yaml", "cannot read");
}

static void test_slurm(void)
{
  says("cluster slurm jobs.yaml -o slurm --tasks 2", "27 cells in 2 task(s)");
  ok(file_has("slurm/cluster/start.sh", "--array=1-2"), "a job array of two tasks");
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
    bool done = false;
    for (int k = 0; k < 1200 && !done; k++) {
      usleep(200000);
      /* a controller that is too busy to answer is no empty queue */
      done = system("q=$(squeue -h 2>/dev/null) && test -z \"$q\"") == 0;
    }
    ok(done && perp_exists("slurm/report.html"), "they end, and the report is there");
    ok(system("grep -h NodeList= node/log/jobcomp.txt | grep -o 'NodeList=n[12]' | sort -u | wc -l "
              "| grep -q 2") == 0,
       "both nodes had a part");
    ok(same_file("local/derived/cells.csv", "slurm/derived/cells.csv"),
       "the same cells.csv as the local run, byte for byte");
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
