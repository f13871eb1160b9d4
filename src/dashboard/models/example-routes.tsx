/** /models/{owner}/{name}/examples: the public page of examples, and the actions of their owner. */
import {
  changeExample,
  examplesOf,
  goneVersions,
  moveExampleUp,
  pinExample,
  unpinExample,
} from "../../services/models/examples.ts";
import { readModel } from "../../services/models/models.ts";
import { requireUser, viewerOf } from "../access.ts";
import { type PageContext, pages } from "../context.ts";
import { redirectWithFlash } from "../flash.ts";
import { fieldText, readForm } from "../form.ts";
import { ExamplesPage } from "./examples.tsx";
import { estimateOf } from "./run-estimate.ts";

const ALL = "/models/:owner/:name/examples";

type Change = typeof unpinExample;

/** An action of the owner on an example, and its message. */
const changing = (change: Change, done: string) => async (c: PageContext) => {
  const { owner = "", name = "", example = "" } = c.req.param();
  await change(c.var.services, viewerOf(c).caller, [owner, name], example);
  return redirectWithFlash(c, done, `/models/${owner}/${name}/examples`);
};

export const examplePages = pages()
  .get(ALL, async (c) => {
    const { services, viewer, origin } = c.var;
    const { owner, name } = c.req.param();
    const model = await readModel(services, viewer?.caller, owner, name);
    const [examples, estimate] = await Promise.all([
      examplesOf(services, model.id, origin),
      estimateOf(c, model),
    ]);
    const gone = await goneVersions(services, model.id, examples);
    const { host } = new URL(origin);
    return c.render(<ExamplesPage {...{ model, viewer, estimate, examples, gone, host }} />, {
      title: `Examples of ${owner}/${name}`,
    });
  })
  .post(ALL, requireUser, async (c) => {
    const { services, origin } = c.var;
    const { owner, name } = c.req.param();
    const id = fieldText(await readForm(c), "prediction_id");
    await pinExample(services, viewerOf(c).caller, [owner, name], id, origin);
    return redirectWithFlash(c, "Pinned as an example.", `/models/${owner}/${name}/examples`);
  })
  .post(`${ALL}/:example/unpin`, requireUser, changing(unpinExample, "Example removed."))
  .post(`${ALL}/:example/up`, requireUser, changing(moveExampleUp, "Example moved up."))
  .post(`${ALL}/:example/cover`, requireUser, async (c) => {
    const is_cover = fieldText(await readForm(c), "is_cover") !== "false";
    const change: Change = async (services, caller, place, id) => {
      await changeExample(services, caller, { place, id }, { is_cover });
    };
    return changing(change, is_cover ? COVER : NO_COVER)(c);
  });

const COVER = "This is the picture of the model now.";
const NO_COVER = "The model has no picture now.";
