/** `auspex run`: a prediction, from its input to its output. */
import { randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import { text as textOf } from "node:stream/consumers";
import { messageOf } from "../../../runner/src/lib/error.ts";
import { readJsonInput } from "../../domain/schemas/input-form-values.ts";
import { parseExact } from "../../lib/exact-json.ts";
import { predictionWithIO } from "../../protocol/prediction.ts";
import { Failure, Interrupted, Misuse } from "../failure.ts";
import { modelArgument } from "../options.ts";
import { followRun, Printer } from "../run/follow-run.ts";
import { buildInput, type Input, noSuchInput, readPair, unknownInputs } from "../run/input.ts";
import { OutputFiles } from "../run/output-files.ts";
import { follow, VALIDATED } from "../service/events.ts";
import { cancelSoon, fullName, readVersion } from "../service/service.ts";
import { type Host, newServiceCommand, openService } from "../session.ts";
import { costText } from "./predictions.ts";
import { readLocalFile, uploadFile } from "./upload.ts";

const PARALLEL = 4;

const MORE = `
Inputs:
  key=text     text, converted to the type in the model's schema
  key:=JSON    JSON, such as a list or an object
  key=@file    a file to upload
Repeat a key to pass a list.

  auspex run ada/story prompt="The Queen" max_tokens=50
  auspex run ada/duotone image=@photo.png --output pictures
  auspex run ada/qwen messages="Who are you?"
  auspex run ada/qwen messages:='[{"role": "user", "content": "Who are you?"}]'

Ctrl+C cancels the prediction, unless you use --detach.`;

export const runCommand = (host: Host) =>
  newServiceCommand("run", "Run a model and print its output")
    .argument("<model>", "owner/name, or owner/name:3 for a version", modelArgument)
    .argument("[inputs...]", "key=text, key:=JSON or key=@file")
    .option("-i, --input <json>", "input as JSON, @FILE, or - for standard input")
    .option(
      "-o, --output <folder>",
      "where to save output files (default: this folder; none with --json)",
    )
    .option("-d, --detach", "print the prediction's ID and exit")
    .addHelpText("after", MORE)
    .action(async (reference, inputs, options) => {
      const pairs = inputs.map(readPair);
      const base = options.input === undefined ? {} : await readInput(options.input, host);
      const session = await openService(host, options);
      const { access, service, output, display, signal, onRetry } = session;
      const folder = options.output ?? (output.json ? undefined : ".");
      const files = new OutputFiles(access, folder ?? ".", signal);
      if (options.output !== undefined && !options.detach) await files.prepare();
      const model = await fullName(service, reference.model);
      const version = await readVersion(service, { ...reference, model });
      const { schemas } = version;
      const who = `${model}:${version.number}`;
      const given = [...Object.keys(base), ...pairs.map(({ name }) => name)];
      for (const { name, names } of unknownInputs(version, given))
        display.say(`Warning: ${noSuchInput(who, name, names)}`);
      const upload = async (path: string) =>
        uploadFile(session, await readLocalFile(path), PARALLEL);
      const input = await buildInput({ base, pairs, schemas, upload });
      const named = reference.version === undefined ? model : `${model}:${reference.version}`;
      const create = { body: { model: named, input }, key: randomUUID() };
      if (options.detach) {
        const headers = { "idempotency-key": create.key, ...VALIDATED };
        const made = await service.post("/predictions", predictionWithIO, {
          body: create.body,
          headers,
        });
        return output.result(made.id, made);
      }
      const printer = new Printer(output.write, files, schemas);
      let id: string | undefined;
      const events = follow({
        access,
        signal,
        create: { ...create, body: { ...create.body, stream: true }, validate: true },
        onRetry,
      });
      const done = await followRun({
        events,
        display,
        onCreated: (own) => {
          id = own;
        },
        // Logs and output share the lines of a terminal.
        onLogs: () => {
          if (host.stdout.isTTY) printer.end();
        },
        onOutput: async (value) => {
          if (!output.json) await printer.add(value);
        },
      }).catch(async (error: unknown) => {
        if (id === undefined) throw error;
        if (signal.aborted) throw await canceled(access, id, signal.reason);
        display.say(`The prediction may still be running. Check it with auspex predictions ${id}`);
        throw error;
      });
      printer.end();
      if (output.json) {
        const full = await service.get(`/predictions/${done.id}`, predictionWithIO, parseExact);
        const saved = folder === undefined ? full.output : await files.save(full.output);
        output.result("", { ...full, output: saved });
      }
      const paid = costText(done);
      const facts = `${done.id} ${done.status} in ${done.execution_time ?? "0.000"}s`;
      display.say(paid ? `${facts}, ${paid}` : facts);
      if (done.status === "succeeded") return;
      throw new Failure(done.error?.message ?? `The prediction was ${done.status}.`);
    });

async function canceled(
  access: Parameters<typeof cancelSoon>[0],
  id: string,
  reason: unknown,
): Promise<unknown> {
  const why = await cancelSoon(access, id).then(
    () => `Canceled ${id}.`,
    (error: unknown) =>
      `Can't cancel ${id}: ${messageOf(error)}. Try again with auspex cancel ${id}`,
  );
  return reason instanceof Interrupted ? reason.saying(why) : reason;
}

async function readInput(given: string, host: Host): Promise<Input> {
  const reading = readJsonInput(await inputText(given, host));
  if ("input" in reading) return reading.input;
  throw new Misuse(`--input: ${reading.fault}`);
}

async function inputText(given: string, { stdin }: Host): Promise<string> {
  if (given === "-") return textOf(stdin);
  if (!given.startsWith("@")) return given;
  return readFile(given.slice(1), "utf8").catch((error: unknown) => {
    throw new Misuse(`--input: ${messageOf(error)}`);
  });
}
