/** `/shared/{token}`: a prediction for whoever has its link; and the links of an account. */
import { z } from "zod";
import { OWN_SOURCE } from "../../domain/predictions/shared-content.ts";
import { limitRate } from "../../middleware/rate-limit.ts";
import { oneFile } from "../../protocol/file.ts";
import { readShared, readSharedFile } from "../../services/shares/shared-view.ts";
import { createShare, listShares, revokeShare, shareGone } from "../../services/shares/shares.ts";
import { requireUser, viewerOf } from "../access.ts";
import { pages } from "../context.ts";
import { redirectWithFlash } from "../flash.ts";
import { fieldText, readForm } from "../form.ts";
import { fragment } from "../prediction-view/fragment.tsx";
import { nextPath } from "../sign-in/next.ts";
import { LIFETIMES, NewLinkPage } from "./form.tsx";
import { SharesPage } from "./list.tsx";
import { SharedPage } from "./shared-page.tsx";

const PAGE_SIZE = 25;
const LIST = "/account/shares";

const lifetime = z.coerce
  .number()
  .refine((days) => LIFETIMES.includes(days))
  .catch(7);

const fileOfShare = z.object({
  source: z.union([z.literal(OWN_SOURCE), oneFile.shape.source_id]),
  name: oneFile.shape.file_name,
});

export const sharePages = pages()
  .get("/shared/:token", async (c) => {
    const { services, origin } = c.var;
    const view = await readShared(services, c.req.param("token"), origin);
    return fragment(c, <SharedPage view={view} host={new URL(origin).host} />);
  })
  .get("/shared/:token/files/:source/:name", async (c) => {
    const { token, ...file } = c.req.param();
    const { data } = fileOfShare.safeParse(file);
    if (!data) throw shareGone();
    return readSharedFile(c.var.services, { token, ...data }, c.req.raw, c.var.origin);
  })
  .post("/predictions/:prediction_id/share", requireUser, async (c) => {
    const { services, origin } = c.var;
    const { caller } = viewerOf(c);
    await limitRate(c, "predictions", caller.user_id);
    const { prediction_id: id } = c.req.param();
    const days = lifetime.parse(fieldText(await readForm(c), "days"));
    const { token, expires_at } = await createShare(services, caller, id, days);
    // Only in this response, which is never cached.
    const address = `${origin}/shared/${token}`;
    return c.render(<NewLinkPage id={id} address={address} expires_at={expires_at} />, {
      title: "Link created",
    });
  })
  .get(LIST, requireUser, async (c) => {
    const request = { cursor: c.req.query("cursor"), size: PAGE_SIZE, url: c.req.url };
    const page = await listShares(c.var.services, viewerOf(c).caller, request);
    return c.render(<SharesPage page={page} />, { title: "Shared links" });
  })
  .post(`${LIST}/:id/revoke`, requireUser, async (c) => {
    await revokeShare(c.var.services, viewerOf(c).caller, c.req.param("id"));
    const from = fieldText(await readForm(c), "from");
    return redirectWithFlash(
      c,
      "Link revoked.",
      from.startsWith("/predictions/") ? nextPath(from) : LIST,
    );
  });
