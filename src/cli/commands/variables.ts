/** `auspex variables`: secrets for a model's containers. No command prints their values. */
import { text as textOf } from "node:stream/consumers";
import { password } from "@clack/prompts";
import { type Model, model as modelShape } from "../../protocol/model.ts";
import { variable } from "../../protocol/variable.ts";
import { Misuse } from "../failure.ts";
import { settableArgument, variableArgument, wholeModelArgument } from "../options.ts";
import { fullName } from "../service/service.ts";
import { type Host, newServiceCommand, openService, showList } from "../session.ts";
import { answered, confirmed, isInteractive, localTime, prompt } from "../ui/output.ts";

export const variablesCommand = (host: Host) =>
  newServiceCommand("variables", "List a model's environment variables")
    .argument("<model>", "owner/name", wholeModelArgument)
    .action(async (given, options) => {
      const session = await openService(host, options);
      const { service } = session;
      const name = await fullName(service, given);
      const [items, model] = await Promise.all([
        service.list(pathOf(name), variable),
        service.get(`/models/${name}`, modelShape),
      ]);
      const listed = listedIn(model);
      const set = items.map((one) => [
        one.name,
        localTime(one.updated_at),
        listed.has(one.name) ? "yes" : "no",
      ]);
      const missing = [...listed].filter((name) => !items.some((one) => one.name === name));
      const unset = missing.map((name) => [name, "not set", "yes"]);
      const latest = model.latest_version
        ? `IN ${name}:${model.latest_version.number}`
        : "IN LATEST";
      showList(session, { head: ["NAME", "SET", latest], rows: [...set, ...unset], items });
    })
    .addCommand(setCommand(host))
    .addCommand(deleteCommand(host));

const MORE = `
The value is read from a prompt or a pipe, so it stays out of your shell history. Containers get the
variables that their version lists in configuration.variable_names, and a remote host the one that
auspex publish --key-variable names.

  auspex variables set ada/story HF_TOKEN
  auspex variables set ada/story HF_TOKEN < token.txt
  printf %s "$HF_TOKEN" | auspex variables set ada/story HF_TOKEN`;

const setCommand = (host: Host) =>
  newServiceCommand("set", "Set a variable")
    .argument("<model>", "owner/name", wholeModelArgument)
    .argument("<name>", "such as HF_TOKEN", settableArgument)
    .addHelpText("after", MORE)
    .action(async (given, name, options) => {
      const { service, output, display } = await openService(host, options);
      const model = await fullName(service, given);
      // The model is read first: a failure after the variable is set would look like a failure to set it.
      const shown = await service.get(`/models/${model}`, modelShape);
      const value = await readValue(model, name, host);
      const set = await service.put(`${pathOf(model)}/${name}`, variable, { value });
      output.result(`Set ${name} for ${model}.`, set);
      if (!listedIn(shown).has(name))
        display.say(
          `${shown.latest_version ? `${model}:${shown.latest_version.number} does not use it` : "No version uses it yet"}. Add it to configuration.variable_names in auspex.json and publish.`,
        );
    });

const deleteCommand = (host: Host) =>
  newServiceCommand("delete", "Delete a variable")
    .argument("<model>", "owner/name", wholeModelArgument)
    .argument("<name>", "such as HF_TOKEN", variableArgument)
    .option("-y, --yes", "skip confirmation")
    .action(async (given, name, options) => {
      const { service, output } = await openService(host, options);
      const model = await fullName(service, given);
      const question = `Delete ${name} from ${model}? The value can't be recovered.`;
      await confirmed(options, () => question);
      await service.delete(`${pathOf(model)}/${name}`);
      output.result(`Deleted ${name} from ${model}.`, { model, name });
    });

const pathOf = (model: string) => `/models/${model}/variables`;

/** The variables that the latest version uses: those of its containers, or the key of its remote host. */
function listedIn({ latest_version }: Model): Set<string> {
  const { variable_names = [], remote } = latest_version?.configuration ?? {};
  return new Set([...variable_names, ...(remote?.key_variable ? [remote.key_variable] : [])]);
}

async function readValue(model: string, name: string, { stdin }: Host): Promise<string> {
  if (isInteractive()) {
    const answer = answered(await password({ ...prompt, message: `Value for ${name}` }));
    if (answer !== "") return answer;
  }
  // The line break at the end of a file is no part of the value.
  const piped = stdin.isTTY ? "" : (await textOf(stdin)).replace(/\r?\n$/, "");
  if (piped !== "") return piped;
  throw new Misuse(`Missing value. Pipe it in: auspex variables set ${model} ${name} < value.txt`);
}
