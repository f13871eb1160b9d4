/** `auspex variables`: secrets for a model's containers. No command prints their values. */
import { text as textOf } from "node:stream/consumers";
import { password } from "@clack/prompts";
import { type Model, model as modelShape } from "../../protocol/model.ts";
import { variable } from "../../protocol/variable.ts";
import { Interrupted, Misuse } from "../failure.ts";
import { settableArgument, variableArgument, wholeModelArgument } from "../options.ts";
import { type Host, newServiceCommand, openService, showList } from "../session.ts";
import { confirmed, isInteractive } from "../ui/output.ts";

export const variablesCommand = (host: Host) =>
  newServiceCommand("variables", "List, set and delete the variables of a model's containers")
    .argument("<model>", "owner/name", wholeModelArgument)
    .action(async (name, options) => {
      const session = await openService(host, options);
      const { service } = session;
      const [items, model] = await Promise.all([
        service.list(pathOf(name), variable),
        service.get(`/models/${name}`, modelShape),
      ]);
      const listed = listedIn(model);
      const set = items.map((one) => [
        one.name,
        one.updated_at,
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
The value is asked for, or piped in: as an argument it would be in the shell's history, and other
programs would see it. Containers get it if configuration.variable_names of their version lists it.

  auspex variables set ada/story HF_TOKEN
  auspex variables set ada/story HF_TOKEN < token.txt
  printf %s "$HF_TOKEN" | auspex variables set ada/story HF_TOKEN`;

const setCommand = (host: Host) =>
  newServiceCommand("set", "Set a variable, from standard input or as you type it")
    .argument("<model>", "owner/name", wholeModelArgument)
    .argument("<name>", "as in HF_TOKEN", settableArgument)
    .addHelpText("after", MORE)
    .action(async (model, name, options) => {
      const { service, output, display } = await openService(host, options);
      // The model is read first: a failure after the variable is set would look like a failure to set it.
      const shown = await service.get(`/models/${model}`, modelShape);
      const value = await readValue(model, name);
      const set = await service.put(`${pathOf(model)}/${name}`, variable, { value });
      output.result(`Set ${name} for ${model}.`, set);
      if (!listedIn(shown).has(name))
        display.say(
          `${shown.latest_version ? `${model}:${shown.latest_version.number} does not get it` : "No version gets it yet"}: list it in configuration.variable_names of auspex.json, and publish.`,
        );
    });

const deleteCommand = (host: Host) =>
  newServiceCommand("delete", "Delete a variable")
    .argument("<model>", "owner/name", wholeModelArgument)
    .argument("<name>", "as in HF_TOKEN", variableArgument)
    .option("-y, --yes", "do not ask")
    .action(async (model, name, options) => {
      const { service, output } = await openService(host, options);
      const question = `Delete ${name} of ${model}? Nobody can read its value again, and new runs go without it.`;
      await confirmed(options, () => question);
      await service.delete(`${pathOf(model)}/${name}`);
      output.result(`Deleted ${name} of ${model}.`, { model, name });
    });

const pathOf = (model: string) => `/models/${model}/variables`;

const listedIn = ({ latest_version }: Model): Set<string> =>
  new Set(latest_version?.configuration.variable_names);

async function readValue(model: string, name: string): Promise<string> {
  if (isInteractive()) {
    const answer = await password({ message: `Value of ${name}`, output: process.stderr });
    if (typeof answer !== "string") throw new Interrupted("SIGINT");
    if (answer !== "") return answer;
  }
  // The line break at the end of a file is no part of the value.
  const piped = process.stdin.isTTY ? "" : (await textOf(process.stdin)).replace(/\r?\n$/, "");
  if (piped !== "") return piped;
  throw new Misuse(`A value is needed: auspex variables set ${model} ${name} < value.txt`);
}
