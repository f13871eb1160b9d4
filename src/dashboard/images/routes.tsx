/** `/account/images`: what an account has pushed to the deployment's registry, and what removes it. */
import { RegistryError } from "../../errors-registry.ts";
import { getOwnStorage } from "../../services/accounts/usage.ts";
import { listOwnImages, removeOwnImage } from "../../services/registry/account-images.ts";
import { requireUser, viewerOf } from "../access.ts";
import { type PageContext, pages } from "../context.ts";
import { redirectWithFlash } from "../flash.ts";
import { type Draft, emptyDraft, fieldText, readForm } from "../form.ts";
import { ImagesPage } from "./page.tsx";

const PAGE_SIZE = 25;
const LIST = "/account/images";

export const imagePages = pages()
  .get(LIST, requireUser, (c) => showImages(c, emptyDraft))
  .post("/models/:owner/:name/images/remove", requireUser, async (c) => {
    const { owner, name } = c.req.param();
    const reference = fieldText(await readForm(c), "reference");
    try {
      await removeOwnImage(c.var.services, viewerOf(c).caller, { owner, name, reference });
    } catch (error) {
      if (!(error instanceof RegistryError)) throw error;
      c.status(error.status);
      return showImages(c, { issues: {}, problem: error.message });
    }
    const what = reference.includes(":") ? "Image deleted." : `Tag ${reference} removed.`;
    return redirectWithFlash(c, what, LIST);
  });

async function showImages(c: PageContext, draft: Draft) {
  const { services, origin } = c.var;
  const { caller, user } = viewerOf(c);
  const url = new URL(LIST, origin).href;
  const [page, { images }] = await Promise.all([
    listOwnImages(services, caller, { cursor: c.req.query("cursor"), size: PAGE_SIZE, url }),
    getOwnStorage(services, caller),
  ]);
  const place = { origin, username: user.username };
  return c.render(<ImagesPage page={page} storage={images} place={place} draft={draft} />, {
    title: "Images",
  });
}
