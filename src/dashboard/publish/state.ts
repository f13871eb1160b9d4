/** Data of the pages that show the ways to publish. */
import { hardwareOf, isServed } from "../../services/runners/run-estimate.ts";
import type { DetailedModelRow } from "../../storage/models/models.ts";
import { viewerOf } from "../access.ts";
import type { PageContext } from "../context.ts";
import type { Draft } from "../form.ts";
import type { PublishState } from "./ways.tsx";

/** The name of a model that is not there yet. */
const EXAMPLE = "greeter";

/** @param model the viewer's own; undefined: one that is not there yet */
export async function publishState(
  c: PageContext,
  model: DetailedModelRow | undefined,
  { token, draft }: { token?: string | undefined; draft?: Draft | undefined } = {},
): Promise<PublishState> {
  const { services, origin } = c.var;
  const { user, operator } = viewerOf(c);
  const hardware = model && hardwareOf(model, model.latest_version);
  return {
    names: {
      origin,
      username: user.username,
      name: model?.name ?? EXAMPLE,
      token,
      isFirst: !model?.latest_version,
    },
    exists: model !== undefined,
    hasRunner: await isServed(services, hardware),
    operator,
    ...(draft && { draft }),
  };
}
