/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The page of a session: that of `perp view`. */
#include "experiments/base/files.h"
#include "experiments/base/memory.h"
#include "experiments/session/session_private.h"
#include "experiments/watch/motion_page.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static perp_status page_replay(session *work, perp_replay **out)
{
  if (work->scene.model == NULL)
    return PERP_FAIL(work->ctx, PERP_ERR_UNSUPPORTED, "%s has no bodies to draw", work->name);
  PERP_TRY(perp_replay_create(work->ctx, work->scene.model, PERP_REPLAY_FILM, false, out));
  if (*out == NULL)
    return PERP_FAIL(work->ctx, PERP_ERR_UNSUPPORTED,
                     "%s has more than 10000 bodies, too many to be shown on a page", work->name);
  return perp_session_frame(work, *out);
}

perp_status perp_session_record(perp_session *face, bool on)
{
  session *work = (session *)face;
  perp_replay_destroy(work->replay);
  work->replay = NULL;
  return on ? page_replay(work, &work->replay) : PERP_OK;
}

static perp_status page_write(session *work, const char *folder, const char *path)
{
  const perp_session *f = &work->face;
  size_t size;
  char *file = perp_xprintf("%s/replay.json", folder), *text = NULL;
  perp_status status = perp_replay_write(work->ctx, work->replay, file);
  char *replay = status == PERP_OK ? perp_read_file(file, NULL) : NULL;
  if (status == PERP_OK && replay == NULL)
    status = PERP_FAIL(work->ctx, PERP_ERR_IO, "cannot read %s: %s", file, strerror(errno));
  if (status == PERP_OK) {
    FILE *out = open_memstream(&text, &size);
    perp_json json = { .out = out };
    perp_json_members(&json,
                      "{ scene %s, h %g, t_end %g, reached %g, status %s, reason %s, cause %s",
                      work->name, f->h, f->t, f->t, f->reason < 0 ? "failed" : "ok",
                      perp_reason_name((perp_reason)f->reason), "");
    perp_json_members(&json, "truth %s, events %s", "", "");
    perp_json_open(&json, "parts", '{');
    for (int part = 0; part < PERP_PARTS; part++)
      if (work->part[part][0] != '\0')
        perp_json_text(&json, perp_part_name(part), work->part[part]);
    perp_json_close(&json, '}');
    perp_json_raw(&json, "replay", replay);
    perp_json_close(&json, '}');
    fclose(out);
    status = perp_motion_page(work->ctx, path, (const char *const[]){ text }, 1);
  }
  free(text);
  free(replay);
  free(file);
  return status;
}

perp_status perp_session_page(perp_session *face, const char *path)
{
  session *work = (session *)face;
  const bool recorded = work->replay != NULL;
  if (!recorded) PERP_TRY(page_replay(work, &work->replay));
  char *folder = perp_temp_folder(work->ctx);
  const perp_status status = folder != NULL ? page_write(work, folder, path) : PERP_ERR_IO;
  perp_temp_remove(folder);
  if (!recorded) perp_session_record(face, false);
  return status;
}
