/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/base/env.h"

#include "experiments/base/build.h"
#include "experiments/base/commit.h"
#include "experiments/base/files.h"
#include "experiments/base/memory.h"
#include "experiments/base/json.h"

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
  char *text = perp_read_file(path, NULL); /* what cannot be read is not known */
  const size_t n = strlen(key);
  for (char *line = text, *next; line != NULL && buf[0] == '\0'; line = next) {
    next = strchr(line, '\n');
    if (next != NULL) *next++ = '\0';
    if (strncmp(line, key, n) != 0) continue;
    char *at = line + n + strspn(line + n, " \t:=\"");
    at[strcspn(at, "\"")] = '\0';
    snprintf(buf, size, "%s", at);
  }
  free(text);
}

char *perp_env_json(bool indent)
{
  char *text = NULL, cholmod[32], yaml[32], system[512], cpu[512], memory[512];
  size_t n = 0;
  FILE *file = perp_memory_stream(&text, &n);
  perp_json json = { .out = file, .indent = indent };
  struct utsname machine = { 0 };
  uname(&machine);
  const struct fy_version *version = fy_version_default();
  snprintf(yaml, sizeof yaml, "YAML %d.%d", version->major, version->minor);
  snprintf(cholmod, sizeof cholmod, "%d.%d.%d", CHOLMOD_MAIN_VERSION, CHOLMOD_SUB_VERSION,
           CHOLMOD_SUBSUB_VERSION);
  field_of("/etc/os-release", "PRETTY_NAME", system, sizeof system);
  field_of("/proc/cpuinfo", "model name", cpu, sizeof cpu);
  field_of("/proc/meminfo", "MemTotal", memory, sizeof memory);
  perp_json_members(&json, "{ perp %s, commit %s, compiler %s, buildtype %s, flags %s",
                    PERP_VERSION, PERP_COMMIT, PERP_COMPILER, PERP_BUILDTYPE, PERP_FLAGS);
#ifdef PERP_SANITIZED
  perp_json_bool(&json, "sanitizers", true);
#endif
  perp_json_members(
      &json, "libraries: { openblas %s, openblas_core %s, openblas_threads %d, gsl %s",
      openblas_get_config(), openblas_get_corename(), openblas_get_num_threads(), gsl_version);
  perp_json_text(&json, "engines", PERP_ENGINES);
  perp_json_members(&json, "cholmod %s, jansson %s, libfyaml %s }", cholmod, JANSSON_VERSION, yaml);
  perp_json_members(
      &json, "host %s, kernel %s, machine %s, system %s, cpu %s, cores %d, memory %s }",
      machine.nodename, machine.release, machine.machine, system, cpu, perp_cores(), memory);
  perp_memory_stream_close(file);
  return text;
}

void perp_env_id(char id[17])
{
  char *text = perp_env_json(false);
  snprintf(id, 17, "%016llx", (unsigned long long)perp_hash64(text, strlen(text), 0));
  free(text);
}
