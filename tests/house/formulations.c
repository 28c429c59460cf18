/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The table of docs/reference/formulations.md says of every formulation what its capabilities say.
 */
#include "models/models.h"
#include "tests/tap.h"

#include <string.h>

static perp_ctx ctx;

static void row_of(const perp_desc *d, char *row, size_t size)
{
  static const unsigned caps[] = {
    PERP_FORM_CONTACTS,     PERP_FORM_DRIVES,  PERP_FORM_DRIVES | PERP_FORM_SERVOS,
    PERP_FORM_SPRINGS,      PERP_FORM_MOTIONS, PERP_FORM_SIGNALS,
    PERP_FORM_NONHOLONOMIC, PERP_FORM_COUPLES, PERP_FORM_BREAKS,
    PERP_FORM_ANISOTROPIC,  PERP_FORM_DISABLED
  };
  size_t used = (size_t)snprintf(row, size, "| `%s` |", d->name);
  for (size_t i = 0; i < sizeof caps / sizeof *caps && used < size; i++)
    used += (size_t)snprintf(row + used, size - used, " %s |", d->caps & caps[i] ? "yes" : "-");
}

int main(int argc, char **argv)
{
  static char page[1 << 16];
  const perp_desc *d;
  perp_ctx_init(&ctx);
  if (perp_register_models(&ctx) != PERP_OK) bail("%s", ctx.msg);
  FILE *file = argc > 1 ? fopen(argv[1], "r") : NULL;
  if (file == NULL) bail("no docs/reference/formulations.md");
  page[fread(page, 1, sizeof page - 1, file)] = '\0';
  fclose(file);
  for (int i = 0; (d = perp_plugin_at(&ctx, PERP_KIND_formulation, i)) != NULL; i++) {
    char row[256];
    if ((d->caps & PERP_FORM_WRAPS) || strchr(d->name, ':') != NULL) continue; /* optional ones */
    row_of(d, row, sizeof row);
    ok(strstr(page, row) != NULL, "docs/reference/formulations.md has %s", row);
  }
  return tap_done();
}
