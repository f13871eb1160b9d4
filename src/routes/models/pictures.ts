/** /pictures: pictures of other hosts on pages of models. It is for browsers, and no part of the API. */
import { z } from "zod";
import { ProblemError } from "../../errors/errors.ts";
import { clientNetwork, limitRate } from "../../middleware/rate-limit.ts";
import { signedQuery } from "../../protocol/file.ts";
import { PICTURES, readPicture } from "../../services/models/pictures.ts";
import { router } from "../router.ts";

const query = signedQuery.extend({ url: z.url() });

export const pictureRoutes = router().get(PICTURES, async (c) => {
  await limitRate(c, "token", `${PICTURES} ${clientNetwork(c)}`);
  const { success, data } = query.safeParse(c.req.query());
  if (!success)
    throw new ProblemError("forbidden", "This URL has no valid signature. Use the URL unchanged.");
  const { type, body } = await readPicture(c.var.services, data);
  return new Response(body, {
    headers: {
      "content-type": type,
      "content-disposition": "inline",
      // The URL is the same for everybody for an hour at least (`stableExpiry`).
      "cache-control": "public, max-age=3600",
      "content-security-policy": "default-src 'none'; sandbox",
      "referrer-policy": "no-referrer",
    },
  });
});
