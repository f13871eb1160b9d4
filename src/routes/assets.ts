/**
 * Assets of an earlier deployment that open pages still ask for: the response is the current file of the same
 * name. Assets of the current deployment are served before the Worker is called.
 */
import { notFound } from "../errors/errors.ts";
import { readManifest } from "../services/assets.ts";
import { router } from "./router.ts";

/** esbuild's hash between a file's name and its extension. */
const HASH = /-[A-Z0-9]{8}(?=\.\w+$)/;

export const assetRoutes = router().get("/assets/:file", async (c) => {
  const { files } = await readManifest(c.env);
  const name = c.req.path.replace(HASH, "");
  const current = Object.values(files).find((path) => path.replace(HASH, "") === name);
  const isOld = name !== c.req.path && current !== c.req.path;
  if (current === undefined || !isOld) throw notFound("The file");
  c.header("cache-control", "no-store");
  return c.redirect(current);
});
