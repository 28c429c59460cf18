/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The page of a session: that of `perp view`. */
#include "experiments/base/files.h"
#include "experiments/base/memory.h"
#include "experiments/session/session_private.h"
#include "experiments/watch/motion_page.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static perp_status page_replay(session *s, perp_replay **out)
{
  if (s->scene.model == NULL)
    return PERP_FAIL(s->ctx, PERP_ERR_UNSUPPORTED, "%s has no bodies to draw", s->name);
  PERP_TRY(perp_replay_create(s->ctx, s->scene.model, PERP_REPLAY_FILM, false, out));
  if (*out == NULL)
    return PERP_FAIL(s->ctx, PERP_ERR_UNSUPPORTED,
                     "%s has more than 10000 bodies, too many to be shown on a page", s->name);
  return perp_session_frame(s, *out);
}

perp_status perp_session_record(perp_session *face, bool on)
{
  session *s = (session *)face;
  perp_replay_destroy(s->replay);
  s->replay = NULL;
  return on ? page_replay(s, &s->replay) : PERP_OK;
}

static perp_status page_write(session *s, const char *folder, const char *path)
{
  const perp_session *f = &s->face;
  size_t size;
  char *file = perp_xprintf("%s/replay.json", folder), *text = NULL;
  perp_status status = perp_replay_write(s->ctx, s->replay, file);
  char *replay = status == PERP_OK ? perp_read_file(file, NULL) : NULL;
  if (status == PERP_OK && replay == NULL)
    status = PERP_FAIL(s->ctx, PERP_ERR_IO, "cannot read %s: %s", file, strerror(errno));
  if (status == PERP_OK) {
    FILE *out = open_memstream(&text, &size);
    perp_json j = { .out = out };
    perp_json_members(&j, "{ scene %s, h %g, t_end %g, reached %g, status %s, reason %s, cause %s",
                      s->name, f->h, f->t, f->t, f->reason < 0 ? "failed" : "ok",
                      perp_reason_name((perp_reason)f->reason), "");
    perp_json_members(&j, "truth %s, events %s", "", "");
    perp_json_open(&j, "parts", '{');
    for (int k = 0; k < PERP_PARTS; k++)
      if (s->part[k][0] != '\0') perp_json_text(&j, perp_part_name(k), s->part[k]);
    perp_json_close(&j, '}');
    perp_json_raw(&j, "replay", replay);
    perp_json_close(&j, '}');
    fclose(out);
    status = perp_motion_page(s->ctx, path, (const char *const[]){ text }, 1);
  }
  free(text);
  free(replay);
  free(file);
  return status;
}

perp_status perp_session_page(perp_session *face, const char *path)
{
  session *s = (session *)face;
  const bool recorded = s->replay != NULL;
  if (!recorded) PERP_TRY(page_replay(s, &s->replay));
  char *folder = perp_temp_folder(s->ctx);
  const perp_status status = folder != NULL ? page_write(s, folder, path) : PERP_ERR_IO;
  perp_temp_remove(folder);
  if (!recorded) perp_session_record(face, false);
  return status;
}
