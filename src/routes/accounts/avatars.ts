/** /avatars: users' avatars. They are public and cached without end, since a new avatar has a new URL. */
import { z } from "zod";
import { notFound } from "../../errors/errors.ts";
import { uuid } from "../../protocol/common.ts";
import { readAvatar } from "../../services/accounts/avatars.ts";
import { router } from "../router.ts";

const CACHE = "public, max-age=31536000, immutable";

const onePicture = z.object({ user_id: uuid, hash: z.string().regex(/^[0-9a-f]{64}$/) });

export const avatarRoutes = router().get(
  "/avatars/:user_id/:hash",
  async ({ req, var: { services } }) => {
    const { success, data } = onePicture.safeParse(req.param());
    if (!success) throw notFound("The picture");
    const picture = await readAvatar(services, data.user_id, data.hash);
    return new Response(picture.body, {
      headers: {
        "content-type": picture.httpMetadata?.contentType ?? "application/octet-stream",
        "content-length": String(picture.size),
        "content-disposition": "inline",
        "cache-control": CACHE,
        // User content must not run scripts on this origin.
        "x-content-type-options": "nosniff",
        "content-security-policy": "default-src 'none'; sandbox",
        "cross-origin-resource-policy": "cross-origin",
        "referrer-policy": "no-referrer",
      },
    });
  },
);
