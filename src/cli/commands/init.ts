/** `auspex init`: a folder with a small model that can be published as it is. */
import { basename, resolve } from "node:path";
import { isCancel, select } from "@clack/prompts";
import { Interrupted, Misuse } from "../failure.ts";
import { TEMPLATE_NAMES, TEMPLATES, type Template, writeTemplate } from "../init/templates.ts";
import { choice } from "../options.ts";
import { quotedPath } from "../ui/shell.ts";
import { isInteractive } from "../ui/terminal.ts";
import { type Host, newCommand, openSession } from "./session.ts";

const MORE = `\nTemplates:\n${TEMPLATE_NAMES.map((name) => `  ${name.padEnd(10)} ${TEMPLATES[name]}`).join("\n")}`;

export const initCommand = (host: Host) =>
  newCommand("init", "Write a small model to start from")
    .argument("[folder]", "where to write it; its name becomes the model's", ".")
    .option("--template <name>", TEMPLATE_NAMES.join(", "), choice(TEMPLATE_NAMES))
    .addHelpText("after", MORE)
    .action(async (folder, options) => {
      const { output } = openSession(host, options);
      const template = options.template ?? (await askTemplate());
      const { files, name } = await writeTemplate(template, folder);
      const own = name === basename(resolve(folder)) ? "" : ` The model's name is ${name}.`;
      const [where, next] =
        folder === "."
          ? ["this folder", "auspex publish"]
          : [folder, `auspex publish ${quotedPath(folder)}`];
      output.result(`Wrote ${files.join(", ")} into ${where}.${own} Next: ${next}`, {
        folder,
        name,
        template,
        files,
      });
    });

async function askTemplate(): Promise<Template> {
  if (!isInteractive())
    throw new Misuse(`Name a template with --template: ${TEMPLATE_NAMES.join(", ")}.`);
  const chosen = await select<Template>({
    message: "Start from",
    options: TEMPLATE_NAMES.map((value) => ({ value, label: value, hint: TEMPLATES[value] })),
    output: process.stderr,
  });
  if (isCancel(chosen)) throw new Interrupted("SIGINT");
  return chosen;
}
