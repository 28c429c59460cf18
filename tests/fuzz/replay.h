/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A fuzz target without libFuzzer is a test that replays its corpus, tests/fuzz/FOLDER. */
#ifndef PERP_FUZZ_REPLAY_H
#define PERP_FUZZ_REPLAY_H

#include <stddef.h>
#include <stdint.h>

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The bytes as a text that ends; NULL: no memory.  free() it. */
static inline char *text_of(const uint8_t *data, size_t size)
{
  char *text = malloc(size + 1);
  if (text == NULL) return NULL;
  if (size > 0) memcpy(text, data, size);
  text[size] = '\0';
  return text;
}

#ifndef PERP_FUZZ
#include "tests/tap.h"

#include <dirent.h>

static int replay(const char *folder, int least)
{
  static uint8_t data[1 << 20];
  const char *source = getenv("PERP_SOURCE");
  char path[4096];
  int files = 0;
  if (source == NULL) source = ".";
  snprintf(path, sizeof path, "%s/tests/fuzz/%s", source, folder);
  DIR *dir = opendir(path);
  if (dir == NULL) bail("%s", path);
  const struct dirent *e;
  while ((e = readdir(dir)) != NULL) {
    if (e->d_name[0] == '.') continue;
    snprintf(path, sizeof path, "%s/tests/fuzz/%s/%s", source, folder, e->d_name);
    FILE *f = fopen(path, "rb");
    if (f == NULL) bail("%s", path);
    size_t size = fread(data, 1, sizeof data, f);
    fclose(f);
    LLVMFuzzerTestOneInput(data, size);
    files++;
  }
  closedir(dir);
  ok(files >= least, "%d files of %s: read or refused, nothing else", files, folder);
  return tap_done();
}
#endif
#endif
