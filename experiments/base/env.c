/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/base/env.h"

#include "experiments/base/build.h"
#include "experiments/base/commit.h"

#include <cblas.h>
#include <gsl/gsl_version.h>
#include <jansson.h>
#include <libfyaml.h>
#include <math.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <suitesparse/cholmod.h>
#include <sys/utsname.h>
#include <unistd.h>

int perp_cores(void)
{
  cpu_set_t set;
  int n = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 0;
  return n > 0 ? n : 1;
}

double perp_load(void)
{
  double load;
  return getloadavg(&load, 1) == 1 ? load : (double)NAN;
}

/* Value of "key<blanks>: value" or key=value in a system file; "" when absent. */
static void field_of(const char *path, const char *key, char *buf, size_t size)
{
  buf[0] = '\0';
  FILE *f = fopen(path, "re");
  if (f == NULL) return;
  char line[512];
  while (fgets(line, sizeof line, f) != NULL) {
    size_t n = strlen(key);
    if (strncmp(line, key, n) != 0) continue;
    char *v = line + n + strspn(line + n, " \t:=\"");
    v[strcspn(v, "\"\n")] = '\0';
    snprintf(buf, size, "%s", v);
    break;
  }
  fclose(f);
}

char *perp_env_json(bool indent)
{
  char *text = NULL, buf[512];
  size_t n = 0;
  FILE *m = open_memstream(&text, &n);
  if (m == NULL) return perp_xstrdup("{}");
  perp_json j = { .out = m, .indent = indent };
  struct utsname u = { 0 };
  uname(&u);
  perp_json_open(&j, NULL, '{');
  perp_json_text(&j, "perp", PERP_VERSION);
  perp_json_text(&j, "commit", PERP_COMMIT);
  perp_json_text(&j, "compiler", PERP_COMPILER);
  perp_json_text(&j, "buildtype", PERP_BUILDTYPE);
  perp_json_text(&j, "flags", PERP_FLAGS);
#ifdef PERP_SANITIZED
  perp_json_bool(&j, "sanitizers", true);
#endif
  perp_json_open(&j, "libraries", '{');
  perp_json_text(&j, "openblas", openblas_get_config());
  perp_json_text(&j, "openblas_core", openblas_get_corename());
  perp_json_int(&j, "openblas_threads", openblas_get_num_threads());
  perp_json_text(&j, "gsl", gsl_version);
  snprintf(buf, sizeof buf, "%d.%d.%d", CHOLMOD_MAIN_VERSION, CHOLMOD_SUB_VERSION,
           CHOLMOD_SUBSUB_VERSION);
  perp_json_text(&j, "cholmod", buf);
  perp_json_text(&j, "jansson", JANSSON_VERSION);
  const struct fy_version *yaml = fy_version_default();
  snprintf(buf, sizeof buf, "YAML %d.%d", yaml->major, yaml->minor);
  perp_json_text(&j, "libfyaml", buf);
  perp_json_close(&j, '}');
  perp_json_text(&j, "host", u.nodename);
  perp_json_text(&j, "kernel", u.release);
  perp_json_text(&j, "machine", u.machine);
  field_of("/etc/os-release", "PRETTY_NAME", buf, sizeof buf);
  perp_json_text(&j, "system", buf);
  field_of("/proc/cpuinfo", "model name", buf, sizeof buf);
  perp_json_text(&j, "cpu", buf);
  perp_json_int(&j, "cores", perp_cores());
  field_of("/proc/meminfo", "MemTotal", buf, sizeof buf);
  perp_json_text(&j, "memory", buf);
  perp_json_close(&j, '}');
  fclose(m);
  return text;
}

void perp_env_id(char id[17])
{
  char *text = perp_env_json(false);
  snprintf(id, 17, "%016llx", (unsigned long long)perp_hash64(text, strlen(text), 0));
  free(text);
}
