/** `auspex publish`: from a folder, or an image, to a version that can be called. */
import { rm } from "node:fs/promises";
import { messageOf } from "../../../runner/src/lib/error.ts";
import { PATHS } from "../../domain/images/server-description.ts";
import {
  type Compatibilities,
  type Model,
  model as modelShape,
  newCompatibilities,
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
import { choice, compatibilityOption, repeated, tagOption } from "../options.ts";
import {
  buildImage,
  findEngine,
  modelName,
  type ProjectManifest,
  readProject,
} from "../publish/project.ts";
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

const MORE = `
The folder has a cog.yaml (built with Cog) or a Dockerfile (built with Docker or Podman); auspex init
makes one. Its auspex.json may say: name, description, visibility, hardware, interface, schemas,
compatibilities, configuration. The model is made if it is not there. Run the same command again after
a break: what was sent is not sent again.

  auspex publish
  auspex publish story --model ada/story --message "Longer stories" --wait
  auspex publish --image vllm/vllm-openai:v0.28.0 --model qwen --hardware l40s
  auspex publish --image acme/llm-server --model qwen --interface openai
  auspex publish --archive image.tar --model qwen
  auspex publish --check --env HF_TOKEN`;

export const publishCommand = (host: Host) =>
  newServiceCommand("publish", "Build a model, push its image, and make it a version")
    .argument("[folder]", "with a cog.yaml or a Dockerfile", ".")
    .option("--image <reference>", "publish an existing image instead of building one")
    .option("--archive <path>", "publish from an archive of docker save or an OCI layout")
    .option("--model <name>", "owner/name or name (default: auspex.json's, or the folder's)")
    .option("-m, --message <text>", "release notes", "Published with auspex")
    .option("--hardware <class>", "hardware for it (default: the model's)")
    .option("--interface <name>", SPEAKS, interfaceOption)
    .option(
      "--compatibility <api=true|false>",
      "an API that its server has or has not, such as vendora_embeddings=true; can be repeated",
      compatibilityOption,
    )
    .option("--visibility <who>", "of a new model", choice(visibility.options))
    .option("--tag <tag>", "the image's tag in the registry", tagOption, "latest")
    .option("--engine <name>", "docker or podman (default: the first that answers)")
    .option("--check", "start it on this machine first: it is ready without a runner's first start")
    .option("--env <name>", "with --check: a variable of this shell for the container", repeated)
    .option("--wait", "make it the default only once a runner has started it")
    .addHelpText("after", MORE)
    .action(async (folder, options) => {
      const session = await openService(host, options);
      const { service, output, display, signal, access } = session;
      const project = await readProject(folder);
      const manifest = withCompatibilities(project.manifest, options.compatibility);
      if (options.message.length > MAX_NOTES)
        throw new Misuse(`--message has at most ${MAX_NOTES} characters.`);
      if (options.env && !options.check)
        throw new Misuse("--env is for --check. What runners set are the model's variables.");
      if (options.archive !== undefined && options.check)
        throw new Misuse(
          "--check needs an image in Docker or Podman: run docker load --input FILE, then publish with --image.",
        );
      requireVariables(options.env ?? []);
      const model = modelName(project, options.model, await usernameOf(service));
      const source = { project, image: options.image, archive: options.archive };
      const engine = await findEngine(source, options.engine, signal);
      const hardware = options.hardware ?? manifest.hardware;
      if (hardware !== undefined) await requireHardware(service, hardware);
      const { found, make } = await findModel(service, {
        model,
        description: manifest.description,
        visibility: options.visibility ?? manifest.visibility,
        hardware,
        isInteractive: isInteractive() && !options.json,
      });
      const page = `${access.url}/models/${model}`;
      if (found && options.visibility) requireVisibility(found, options.visibility, page);
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
      if (!found) display.say(`Made ${model} (${target.visibility}).`);
      const to = { name: model, model: target.id, tag: options.tag };
      const { digest, compressedSize } = await push(session, built.source, to);
      const body = newVersion({
        digest,
        notes: options.message,
        manifest,
        configuration,
        described,
        setDefault: !options.wait,
      });
      const made = await createVersion(service, model, latest?.number ?? 0, body);
      const reference = `${model}:${made.number}`;
      display.say(`Published ${reference}, ${formatBytes(compressedSize)} compressed.`);
      const runs = found?.default_version ?? latest?.number;
      const shown = await (options.wait ? started(session, model, made, runs) : made);
      const call = exampleCall(model, shown);
      if (shown.status === "awaiting_first_start")
        display.say(`${AWAITS} ${options.wait ? RUN_AGAIN : RUN_IT}`);
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

const interfaceOption = (name: string) =>
  writtenInterface.parse(choice(["cog", "openai", "vendora"])(name));

const SPEAKS =
  "what its server speaks: cog, or openai for OpenAI's API (default: what the image says)";
const MAX_NOTES = 255;
const PUSH_AGAIN = "Interrupted. Run the same command again: what was sent is not sent again.";
const RUN_IT = "Run it once, or publish with --wait or --check.";
const RUN_AGAIN = "Its server did not tell within 10 s: run it once more.";
const AWAITS = "It awaits its first start, which tells what it takes and which APIs it answers.";

/** A server such as whisper.cpp's does not say which APIs it answers. */
const answersNothing = ({ configuration, compatibilities }: Version) =>
  configuration.interface === "vendora" && !Object.values(compatibilities).includes(true);

const NO_API = [
  "Its server does not say which APIs it answers, so calls of OpenAI's and Anthropic's clients are refused.",
  "Name each one that it answers, and publish again: --compatibility vendora_audio_transcriptions=true",
  ...Object.entries(PATHS).map(([flag, path]) => `  ${flag.padEnd(28)} ${path}`),
].join("\n");

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
      throw new Misuse(`--env ${name}: this shell has no such variable. Export it first.`);
}

/** The token is checked for pushing before minutes are spent on building. */
async function requirePush(session: ServiceSession, name: string, { id: model }: Model) {
  const { access, signal, onRetry, folders } = session;
  const client = new RegistryClient({ access, model, signal, onRetry });
  await new Repository({ client, name, state: folders.state }).requirePush();
}

/**
 * Waits until a runner has started the version, and makes it the default.
 * @param runs the default version until then. Undefined: the model has no other version
 * @returns the version after its first start
 * @throws Failure with the reason why it did not start, and which version is still the default
 */
async function started(
  session: ServiceSession,
  model: string,
  made: Version,
  runs: number | undefined,
): Promise<Version> {
  const { service, signal, display } = session;
  const { number } = made;
  const reference = `${model}:${number}`;
  try {
    await warmUp(session, reference, made);
    display.say(`A runner has ${reference} warm.`);
    const read = () => service.get(`/models/${model}/versions/${number}`, version);
    const shown = await completedVersion(read, signal);
    await service.patch(`/models/${model}`, modelShape, { default_version: number });
    if (runs !== undefined) display.say(`Calls that name no version run ${reference} now.`);
    return shown;
  } catch (error) {
    const still =
      runs === undefined
        ? `Its first run starts it: ${exampleCall(model, made) ?? `auspex run ${model}`}`
        : `Calls that name no version still run ${model}:${runs}. To release ${reference} anyway: auspex rollback ${reference}`;
    if (error instanceof Failure && !signal.aborted)
      throw new Failure(`${messageOf(error)}\n${still}`);
    throw endOf(error, signal, `Interrupted. ${reference} is published. ${still}`);
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
