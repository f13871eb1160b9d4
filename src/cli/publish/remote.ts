/** Publishing of a version that a remote host runs: no image, and nothing to start. */
import { type Configuration, remote as remoteShape, version } from "../../protocol/model.ts";
import { Misuse } from "../failure.ts";
import type { ServiceSession } from "../session.ts";
import { exampleCall, type NewVersion } from "./version.ts";

/** The options of the command line. */
export interface RemoteOptions {
  remote?: string | undefined;
  api?: string | undefined;
  remoteModel?: string | undefined;
  keyVariable?: string | undefined;
  repeatable?: true | undefined;
}

/** @returns undefined for a version that runs here. @throws Misuse */
export function remoteConfiguration(options: RemoteOptions): Configuration | undefined {
  const { remote: url, api, remoteModel: model, keyVariable: key_variable, repeatable } = options;
  if (url === undefined) {
    if (api ?? model ?? key_variable ?? repeatable)
      throw new Misuse("--api, --remote-model, --key-variable and --repeatable need --remote URL.");
    return undefined;
  }
  if (api === undefined || model === undefined)
    throw new Misuse(
      "--remote needs --api, which is openai, anthropic or replicate, and --remote-model, the name of the model there.",
    );
  const { data, error } = remoteShape.safeParse({ url, api, model, key_variable, repeatable });
  if (data) return { interface: "remote", remote: data };
  const names: Record<string, string> = { url: "remote", model: "remote-model" };
  const [issue] = error.issues;
  const field = String(issue?.path[0] ?? "url").replace("_", "-");
  throw new Misuse(`--${names[field] ?? field}: ${issue?.message}.`);
}

/** Creates the version, which is the default version at once. */
export async function publishRemote(
  { service, output, display }: ServiceSession,
  model: string,
  page: string,
  body: Omit<NewVersion, "image">,
): Promise<void> {
  const made = await service.post(`/models/${model}/versions`, version, { body });
  const { remote } = made.configuration;
  display.say(`Published ${model}:${made.number}, which runs at ${remote?.url}`);
  const name = remote?.key_variable;
  if (name !== undefined)
    display.say(`Set its key, unless it is set: auspex variables set ${model} ${name}`);
  const call = exampleCall(model, made);
  const url = `${page}/versions/${made.number}`;
  const { number } = made;
  output.result(call === undefined ? url : `${url}\n${call}`, {
    ...{ model, number, url, call: call ?? null, version: made },
  });
}
