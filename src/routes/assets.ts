/**
 * Assets of an earlier deployment, which pages that were opened then still ask for: the same file as it
 * is now. Those of this one are served before the Worker is asked.
 */
import { notFound } from "../errors.ts";
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
