/** Pages for owners of versions: …/versions/new and …/versions/{n}/delete. */

import { imagePath } from "../../services/accounts/users.ts";
import { readOwnModel } from "../../services/models/models.ts";
import { createVersion, deleteVersion } from "../../services/models/versions.ts";
import { recentTags } from "../../services/registry/lists.ts";
import { listHardware } from "../../services/runners/hardware.ts";
import { requireUser, viewerOf } from "../access.ts";
import { type PageContext, pages } from "../context.ts";
import { redirectWithFlash } from "../flash.ts";
import { type Draft, emptyDraft, handleForm } from "../form.ts";
import { repositoryAt } from "../publish/commands.ts";
import { expectedOf } from "./expected.ts";
import { loadVersion } from "./load-version.ts";
import { readVersionForm, withFieldIssues } from "./read-form.ts";
import { VersionPage } from "./version.tsx";
import { NewVersionPage } from "./version-form.tsx";

/** All of them: saving the form would drop a value that is not among its choices. */
const MAX_HARDWARE = 1_000;

async function showNewVersion(c: PageContext, owner: string, name: string, draft: Draft) {
  const { origin, services } = c.var;
  const viewer = viewerOf(c);
  const [model, path, hardware] = await Promise.all([
    readOwnModel(services, viewer.caller, owner, name),
    imagePath(services, owner),
    listHardware(services, { cursor: undefined, size: MAX_HARDWARE, url: c.req.url }),
  ]);
  const [tags, expected] = await Promise.all([
    recentTags(services, model.id),
    expectedOf(c, model),
  ]);
  const images = {
    repository: repositoryAt(origin, owner, name),
    tags,
    isElsewhereAllowed: path !== undefined || services.settings.imageAllowList.length > 0,
    elsewhere: path && `${path}/${name}`,
  };
  return c.render(
    <NewVersionPage
      model={model}
      viewer={viewer}
      expected={expected}
      hardware={hardware.items}
      draft={draft}
      origin={origin}
      images={images}
    />,
    { title: `New version of ${owner}/${name}` },
  );
}

/** A version whose deletion failed. */
async function showVersion(
  c: PageContext,
  [owner, name, number]: [owner: string, name: string, number: number],
  draft: Draft,
) {
  const loaded = await loadVersion(c, owner, name, number);
  return c.render(<VersionPage {...loaded} draft={draft} />, {
    title: `${owner}/${name}:${number}`,
  });
}

export const ownVersionPages = pages()
  .get("/models/:owner/:name/versions/new", requireUser, (c) => {
    const { owner, name } = c.req.param();
    return showNewVersion(c, owner, name, emptyDraft);
  })
  .post("/models/:owner/:name/versions/new", requireUser, async (c) => {
    const { owner, name } = c.req.param();
    const { services } = c.var;
    const sent = await handleForm(c, (form) =>
      withFieldIssues(async () =>
        createVersion(services, viewerOf(c).caller, owner, name, readVersionForm(form)),
      ),
    );
    if (sent.draft) {
      c.status(sent.status);
      return showNewVersion(c, owner, name, sent.draft);
    }
    const { number } = sent.done;
    const address = `/models/${owner}/${name}/versions/${number}`;
    return redirectWithFlash(c, `Version ${number} published.`, address);
  })
  .post("/models/:owner/:name/versions/:number{[1-9][0-9]{0,8}}/delete", requireUser, async (c) => {
    const { owner, name, number } = c.req.param();
    const { services } = c.var;
    const sent = await handleForm(c, () =>
      deleteVersion(services, viewerOf(c).caller, owner, name, Number(number)),
    );
    if (sent.draft) {
      c.status(sent.status);
      return showVersion(c, [owner, name, Number(number)], sent.draft);
    }
    return redirectWithFlash(c, `Version ${number} deleted.`, `/models/${owner}/${name}/versions`);
  });
