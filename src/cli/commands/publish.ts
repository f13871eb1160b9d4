/** `auspex publish`: from a folder, or an image, to a version that can be called. */
import { existsSync } from "node:fs";
import { rm } from "node:fs/promises";
import { messageOf } from "../../../runner/src/lib/error.ts";
import { PATHS } from "../../domain/images/server-description.ts";
import { readModelReference } from "../../protocol/common.ts";
import { DEFAULT_HARDWARE } from "../../protocol/hardware.ts";
import {
  type Compatibilities,
  MAX_OVERVIEW,
  type Model,
  model as modelShape,
  newCompatibilities,
  remoteApi,
  type Version,
  version,
  visibility,
} from "../../protocol/model.ts";
import { writtenInterface } from "../../protocol/runner.ts";
import { checkImage } from "../check/check-image.ts";
import { endOf, Failure, Misuse } from "../failure.ts";
import { makeScratch } from "../folders.ts";
import {
  type ImageSource,
  type Pushed,
  type PushOptions,
  PushProgress,
  pushImage,
} from "../image/push-image.ts";
import { choice, compatibilityOption, repeated, shownApi, tagOption } from "../options.ts";
import {
  buildImage,
  findEngine,
  modelName,
  type ProjectManifest,
  readProject,
  readReadme,
} from "../publish/project.ts";
import { publishRemote, remoteConfiguration } from "../publish/remote.ts";
import {
  completedVersion,
  configurationOf,
  createVersion,
  exampleCall,
  findModel,
  newVersion,
  requireHardware,
  requireVisibility,
  warmUp,
} from "../publish/version.ts";
import { RegistryClient } from "../registry/registry-client.ts";
import { Repository } from "../registry/repository.ts";
import { usernameOf } from "../service/service.ts";
import { type Host, newServiceCommand, openService, type ServiceSession } from "../session.ts";
import { isInteractive } from "../ui/output.ts";
import { formatBytes } from "../ui/progress.ts";
import { actingFor } from "./organizations.ts";

const MORE = `
The folder needs a cog.yaml (built with Cog) or a Dockerfile (built with Docker or Podman). auspex.json
is optional: name, description, visibility, hardware, interface, schemas, compatibilities, configuration.
The model is created if it doesn't exist. To resume an interrupted push, run the same command again.
A runner starts the new version, which then becomes the default version. If it doesn't start, the
command fails and the default version stays the same.

  auspex publish
  auspex publish story --model ada/story --message "Longer stories"
  auspex publish acme/story
  auspex publish --image vllm/vllm-openai:v0.28.0 --model qwen --hardware l40s
  auspex publish --image acme/llm-server --model qwen --interface openai
  auspex publish --archive image.tar --model qwen
  auspex publish --check --env HF_TOKEN
  auspex publish ada/gpt --remote https://api.openai.com/v1 --api openai --remote-model gpt-5-mini --key-variable OPENAI_API_KEY`;

export const publishCommand = (host: Host) =>
  newServiceCommand("publish", "Build a model, push its image and create a version")
    .argument(
      "[folder]",
      "folder with a cog.yaml or Dockerfile, or owner/name to publish this one as",
      ".",
    )
    .option("--image <reference>", "use an existing image instead of building one")
    .option("--archive <path>", "use an archive from docker save, or an OCI layout")
    .option("--model <name>", "model name (default: from auspex.json, or the folder)")
    .option("-m, --message <text>", "release notes", "Published with auspex")
    .option("--hardware <class>", "hardware to run on (default: the model's)")
    .option("--interface <name>", SPEAKS, interfaceOption)
    .option(
      "--compatibility <api=true|false>",
      "turn an API on or off, such as openai_embeddings=true (repeatable)",
      compatibilityOption,
    )
    .option("--remote <url>", "publish no image: the API at this URL runs the version")
    .option(
      "--api <name>",
      "with --remote: openai, anthropic or replicate",
      choice(remoteApi.options),
    )
    .option("--remote-model <name>", "with --remote: name of the model there")
    .option("--key-variable <name>", "with --remote: the model's variable with the API key")
    .option("--repeatable", "with --remote: send a call again that was interrupted")
    .option("--visibility <who>", "visibility of a new model", choice(visibility.options))
    .option("--tag <tag>", "image tag in the registry", tagOption, "latest")
    .option("--engine <name>", "docker or podman (default: whichever is running)")
    .option("--check", "start the image on this machine first, to detect its schema and APIs")
    .option(
      "--env <name>",
      "with --check, pass this environment variable to the container (repeatable)",
      repeated,
    )
    .option("--wait", "if no runner is online to start it, wait for one")
    .option("--no-wait", "make it the default version without starting it first")
    .addHelpText("after", MORE)
    .action(async (place, options) => {
      const opened = await openService(host, options);
      const isModel = options.model === undefined && isModelName(place);
      const [folder, name] = isModel ? [".", place] : [place, options.model];
      const remote = remoteConfiguration(options);
      const project = await readProject(folder);
      const manifest = withCompatibilities(project.manifest, options.compatibility);
      if (options.message.length > MAX_NOTES)
        throw new Misuse(`--message can have at most ${MAX_NOTES} characters.`);
      if (options.env && !options.check)
        throw new Misuse("--env only works with --check. For runners, use auspex variables set.");
      if (options.archive !== undefined && options.check)
        throw new Misuse(
          "--check needs an image in Docker or Podman. Run docker load --input FILE, then publish with --image.",
        );
      requireVariables(options.env ?? []);
      const caller = await usernameOf(opened.service);
      const model = modelName(project, name, caller);
      const [owner = ""] = model.split("/");
      const session = owner === caller ? opened : await actingFor(opened, owner);
      const account = session === opened ? caller : owner;
      const { service, output, display, signal, access } = session;
      const source = { project, image: options.image, archive: options.archive };
      const engine = remote ? undefined : await findEngine(source, options.engine, signal);
      const hardware = options.hardware ?? manifest.hardware;
      if (hardware !== undefined) await requireHardware(service, hardware);
      const { found, make } = await findModel(service, {
        ...{ model, account },
        description: manifest.description,
        visibility: options.visibility ?? manifest.visibility,
        hardware,
        isInteractive: isInteractive() && !options.json && !remote,
      });
      const page = `${access.url}/models/${model}`;
      if (found && options.visibility) requireVisibility(found, options.visibility, page);
      if (remote) {
        if (!found) await make();
        const { schemas, compatibilities } = manifest;
        return publishRemote(session, model, page, {
          release_notes: options.message,
          ...(schemas && { schemas }),
          ...(compatibilities && { compatibilities }),
          configuration: remote,
          set_default: true,
        });
      }
      if (found) await requirePush(session, model, found);
      const built = await buildImage({
        ...source,
        ...{ engine, tag: `auspex/${model.replace("/", "-")}`, display, signal },
      });
      const latest = found?.latest_version ?? null;
      const own = found ? hardware : undefined;
      const spoken = options.interface;
      const configuration = configurationOf({ manifest, spoken, hardware: own, latest });
      const described =
        options.check && built.local
          ? await checkImage({
              ...{
                ...built.local,
                given: manifest,
                configuration,
                inherited: latest?.configuration,
              },
              ...{ variables: options.env ?? [], display, signal },
            })
          : {};
      const target = found ?? (await make());
      if (!found) display.say(`Created ${model} (${target.visibility})`);
      if (built.isOwn && target.overview === "") await showReadme(session, model, project.folder);
      const to = { name: model, model: target.id, tag: options.tag };
      const { digest, compressedSize } = await push(session, built.source, to);
      const body = newVersion({
        digest,
        notes: options.message,
        manifest,
        configuration,
        described,
        setDefault: options.wait === false,
      });
      const made = await createVersion(service, model, latest?.number ?? 0, body);
      const reference = `${model}:${made.number}`;
      display.say(`Published ${reference} (${formatBytes(compressedSize)} compressed)`);
      if (options.wait === false)
        display.say(`${reference} is now the default version. It has not been started yet.`);
      const shown =
        options.wait === false
          ? made
          : await started(session, model, made, {
              default: found?.default_version ?? latest?.number,
              ...(!options.wait && {
                hardware: hardwareOf(made, target),
              }),
            });
      const call = exampleCall(model, shown);
      if (shown.status === "awaiting_first_start")
        display.say(`${AWAITS} ${options.wait === false ? RUN_IT : RUN_AGAIN}`);
      else if (answersNothing(shown)) display.say(NO_API);
      const url = `${page}/versions/${made.number}`;
      output.result(call === undefined ? url : `${url}\n${call}`, {
        model,
        number: made.number,
        digest,
        url,
        call: call ?? null,
        version: shown,
      });
    });

/** Whether the argument names a model and no folder. */
const isModelName = (place: string): boolean =>
  /^[^./~]/.test(place) && place.includes("/") && !existsSync(place) && !!readModelReference(place);

const hardwareOf = ({ configuration }: Version, { hardware }: Model): string =>
  configuration.hardware_identifier ?? hardware?.identifier ?? DEFAULT_HARDWARE;

const interfaceOption = (name: string) =>
  writtenInterface.parse(choice(["cog", "openai", "vendora"])(name));

const SPEAKS = "API of its server: cog or openai (default: detected from the image)";
const MAX_NOTES = 255;
const PUSH_AGAIN = "Interrupted. Run the same command again to resume.";
const RUN_IT = "Run it once, or publish without --no-wait or with --check.";
const RUN_AGAIN = "Its server didn't report them within 10s. Run it once more.";
const AWAITS = "Its schema and APIs are detected when it first starts.";

/** A server such as whisper.cpp's does not say which APIs it answers. */
const answersNothing = ({ configuration, compatibilities }: Version) =>
  configuration.interface === "vendora" && !Object.values(compatibilities).includes(true);

const NO_API = [
  "No APIs detected, so requests from OpenAI and Anthropic clients are refused.",
  "Publish again with each API that its server has, such as --compatibility openai_audio_transcriptions=true",
  ...Object.entries(PATHS).map(([flag, path]) => `  ${shownApi(flag).padEnd(28)} ${path}`),
].join("\n");

/** Makes the README of a folder the overview of its model, which has none yet. */
async function showReadme(
  { service, display }: ServiceSession,
  model: string,
  folder: string,
): Promise<void> {
  const readme = await readReadme(folder);
  if (readme === undefined) return;
  if (readme.length > MAX_OVERVIEW) {
    display.say(
      "README.md is longer than an overview can be (100,000 characters), so it was not used.",
    );
    return;
  }
  await service.patch(`/models/${model}`, modelShape, { overview: readme });
  display.say("README.md is now the overview of the model, which had none.");
}

/** The flags of --compatibility replace those of auspex.json. */
function withCompatibilities(
  manifest: ProjectManifest,
  given: Partial<Compatibilities> | undefined,
): ProjectManifest {
  if (!given) return manifest;
  const compatibilities = newCompatibilities.parse({ ...manifest.compatibilities, ...given });
  return { ...manifest, compatibilities };
}

function requireVariables(names: readonly string[]): void {
  for (const name of names)
    if (process.env[name] === undefined)
      throw new Misuse(`--env ${name}: not set in this shell. Export it first.`);
}

/** The token is checked for pushing before minutes are spent on building. */
async function requirePush(session: ServiceSession, name: string, { id: model }: Model) {
  const { access, signal, onRetry, folders } = session;
  const client = new RegistryClient({ access, model, signal, onRetry });
  await new Repository({ client, name, state: folders.state }).requirePush();
}

/**
 * Waits until a runner has started the version, and makes it the default.
 * @param before the default version until then, undefined if the model has no other version; and the
 * hardware of which a runner must be online, undefined to wait for one
 * @returns the version after its first start
 * @throws Failure with the reason why it did not start, and which version is still the default
 */
async function started(
  session: ServiceSession,
  model: string,
  made: Version,
  before: { default: number | undefined; hardware?: string },
): Promise<Version> {
  const { service, signal, display } = session;
  const { number } = made;
  const runs = before.default;
  const reference = `${model}:${number}`;
  try {
    await warmUp(session, reference, made, before.hardware);
    display.say(`${reference} started.`);
    const read = () => service.get(`/models/${model}/versions/${number}`, version);
    const shown = await completedVersion(read, signal);
    const { default_version, latest_version } = await service.get(`/models/${model}`, modelShape);
    const current = default_version ?? latest_version?.number ?? 0;
    // Another publish may have made a later version the default while this one started.
    if (current > number) {
      display.say(`The default version is ${model}:${current}, which is newer.`);
      return shown;
    }
    await service.patch(`/models/${model}`, modelShape, { default_version: number });
    if (runs !== undefined) display.say(`The default version is now ${reference}.`);
    return shown;
  } catch (error) {
    const still =
      runs === undefined
        ? `To start it, run it: ${exampleCall(model, made) ?? `auspex run ${model}`}`
        : `The default version is still ${model}:${runs}. To make ${reference} the default anyway: auspex rollback ${reference}`;
    if (error instanceof Failure && !signal.aborted)
      throw new Failure(`${messageOf(error)}\n${still}`);
    throw endOf(error, signal, `Interrupted. ${reference} was published. ${still}`);
  }
}

async function push(
  session: ServiceSession,
  source: ImageSource,
  to: Pick<PushOptions, "name" | "model" | "tag">,
): Promise<Pushed> {
  const { access, display, signal, folders, onRetry } = session;
  const scratch = await makeScratch(folders.cache);
  const progress = new PushProgress();
  display.say(`Pushing to ${access.url} as ${to.name}:${to.tag}`);
  const hide = display.show(progress);
  try {
    const pushed = await pushImage({
      source,
      access,
      ...to,
      scratch,
      state: folders.state,
      progress,
      signal,
      onRetry,
    });
    hide();
    display.say(progress.summary);
    return pushed;
  } catch (error) {
    throw endOf(error, signal, PUSH_AGAIN);
  } finally {
    hide();
    await rm(scratch, { recursive: true, force: true });
  }
}
