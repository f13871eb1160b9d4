/** `auspex deployments` lists deployments, and `auspex deploy` makes one or gives it a release. */
import { InvalidArgumentError } from "@commander-js/extra-typings";
import { priceText } from "../../domain/money/price.ts";
import { PRIORITIES } from "../../protocol/common.ts";
import {
  type ChangedDeployment,
  changedDeployment,
  type Deployment,
  deployment,
  type Fallback,
  FIGURE_DAYS,
  fallback,
  type ListedRelease,
  listedRelease,
  type ReleaseFigures,
} from "../../protocol/deployment.ts";
import { amountOf } from "../../protocol/money.ts";
import { Misuse } from "../failure.ts";
import { choice, integerOption, modelArgument, wholeModelArgument } from "../options.ts";
import { fullName, isDeployment, type Service } from "../service/service.ts";
import { type Host, newServiceCommand, openService, showList } from "../session.ts";
import { confirmed, localTime } from "../ui/output.ts";
import { formatDuration } from "../ui/progress.ts";

export const deploymentsCommand = (host: Host) =>
  newServiceCommand("deployments", "List deployments")
    .action(async (options) => {
      const session = await openService(host, options);
      const items = await session.service.list("/deployments", deployment);
      const head = ["DEPLOYMENT", "RELEASE", "RUNS", "HARDWARE", "READY", "STATUS"];
      showList(session, { head, rows: items.map(rowOf), items });
    })
    .addCommand(releasesCommand(host))
    .addCommand(deleteCommand(host));

function rowOf({ owner, name, current_release, next_release, status }: Deployment): string[] {
  const shown = current_release ?? next_release;
  const { ready, wanted, reason } = status;
  return [
    `${owner}/${name}`,
    shown ? String(shown.number) : "",
    shown ? `${shown.model ?? "a deleted model"}:${shown.version}` : "",
    shown?.configuration.hardware ?? "",
    wanted > 0 ? `${ready} of ${wanted}` : "",
    next_release ? `release ${next_release.number} is starting` : (reason ?? ""),
  ];
}

const releasesCommand = (host: Host) =>
  newServiceCommand("releases", `List releases, with figures of the last ${FIGURE_DAYS} days`)
    .argument("<deployment>", "owner/name", wholeModelArgument)
    .action(async (name, options) => {
      const session = await openService(host, options);
      const path = await fullName(session.service, name);
      const [{ current_release, next_release }, items] = await Promise.all([
        session.service.get(`/deployments/${path}`, deployment),
        session.service.list(`/deployments/${path}/releases`, listedRelease),
      ]);
      const states = new Map([
        [current_release?.number, "runs"],
        [next_release?.number, "is starting"],
      ]);
      const times = ["WAIT", "SETUP", "RUN"].map((time) => `${time} P50/P95`);
      const head = [
        "RELEASE",
        "STATE",
        "VERSION",
        "MADE",
        "PREDICTIONS",
        "FAILED",
        ...times,
        "COST",
        "FAILURE",
      ];
      const rows = items.map((one) => releaseRowOf(one, states.get(one.number)));
      showList(session, { head, rows, items });
    });

/** @param state undefined: the release is neither the one that runs nor the one that starts */
const releaseRowOf = (release: ListedRelease, state: string | undefined): string[] => [
  String(release.number),
  state ?? (release.failure === null ? "replaced" : "failed"),
  `${release.model ?? "a deleted model"}:${release.version}`,
  localTime(release.created_at),
  ...figureCellsOf(release.figures),
  release.failure ?? "",
];

function figureCellsOf(figures: ReleaseFigures | null): string[] {
  if (!figures) return ["", "", "", "", "", ""];
  const { predictions, failed, cost, currency } = figures;
  const times = [figures.queue_seconds, figures.setup_seconds, figures.execution_seconds];
  return [
    predictions.toLocaleString("en"),
    failed.toLocaleString("en"),
    ...times.map((one) => (one ? `${formatDuration(one.p50)}/${formatDuration(one.p95)}` : "")),
    cost === "0" ? "" : priceText(amountOf(cost) ?? 0, currency),
  ];
}

const deleteCommand = (host: Host) =>
  newServiceCommand("delete", "Delete a deployment; its model stays")
    .argument("<deployment>", "owner/name", wholeModelArgument)
    .option("-y, --yes", "skip confirmation")
    .action(async (name, options) => {
      const { service, output } = await openService(host, options);
      const path = await fullName(service, name);
      await confirmed(options, () => `Delete the deployment ${path}?`);
      await service.delete(`/deployments/${path}`);
      output.result(`Deleted ${path}.`, { deployment: path });
    });

const MORE = `
Creates the deployment if there is none with this name. Otherwise each change makes a release, and settings
that are not given stay. With --min, the release takes over once a container of it has started.

  auspex deploy chat ada/story --min 1
  auspex deploy chat ada/story:4
  auspex deploy chat --max-concurrency 16 --dry-run`;

const instances = integerOption(0, 100);

export const deployCommand = (host: Host) =>
  newServiceCommand("deploy", "Deploy a version under a name of its own")
    .argument("<deployment>", "its name, or owner/name", wholeModelArgument)
    .argument("[model]", "owner/name or owner/name:3", modelArgument)
    .option("--hardware <class>", "hardware class (default: that of the version)")
    .option("--min <count>", "containers that are kept running", instances)
    .option("--max <count>", "the most containers; 0 turns the deployment off", instances)
    .option(
      "--idle-seconds <seconds>",
      "how long further idle containers are kept",
      integerOption(0, 86_400),
    )
    .option(
      "--max-concurrency <count>",
      "concurrent predictions per container",
      integerOption(1, 1_000),
    )
    .option("--priority <priority>", "priority of predictions that name none", choice(PRIORITIES))
    .option(
      "--probe <input>",
      "JSON input, or the ID of an example of the model: a run that must succeed before the release takes over",
      probeOption,
    )
    .option(
      "--fallback <fallbacks...>",
      "models that answer in turn if the version cannot: owner/name, owner/name:3, or owner/name=20 after 20 seconds",
      fallbackOption,
    )
    .option("--no-probe", "run no probe")
    .option("--no-fallback", "remove the fallbacks")
    .option("--allow-downtime", "stop the release that runs if the new one has no room beside it")
    .option("--dry-run", "check the change, and show what its containers displace")
    .addHelpText("after", MORE)
    .action(async (name, model, options) => {
      const { service, output } = await openService(host, options);
      const path = await fullName(service, name);
      const settings = {
        ...(model && { model: await fullName(service, model.model) }),
        ...(model?.version !== undefined && { version: model.version }),
        hardware: options.hardware,
        min_instances: options.min,
        max_instances: options.max,
        idle_seconds: options.idleSeconds,
        max_concurrency: options.maxConcurrency,
        priority: options.priority,
        probe: options.probe === false ? null : options.probe,
        fallbacks: options.fallback === false ? [] : options.fallback,
      };
      const query = `?dry_run=${options.dryRun === true}&allow_downtime=${options.allowDowntime === true}`;
      const body = JSON.parse(JSON.stringify(settings));
      const made = (await isDeployment(service, path))
        ? await service.patch(`/deployments/${path}${query}`, changedDeployment, body)
        : await create(service, path, query, body, model !== undefined);
      output.result(textOf(made, path, options.dryRun === true), made);
    });

/** @param before the fallbacks that are named before this one */
function fallbackOption(text: string, before: Fallback[] | boolean | undefined): Fallback[] {
  const [model = "", seconds] = text.split("=");
  const after_seconds = seconds === undefined ? null : Number(seconds);
  const { data } = fallback.safeParse({ model, after_seconds });
  if (data) return [...(Array.isArray(before) ? before : []), data];
  throw new InvalidArgumentError("Use owner/name, or owner/name=20 for a time in seconds.");
}

function probeOption(text: string): { input: Record<string, unknown> } | { example: string } {
  if (/^[\w-]+$/.test(text)) return { example: text };
  try {
    const input: unknown = JSON.parse(text);
    if (typeof input === "object" && input !== null && !Array.isArray(input))
      return { input: { ...input } };
  } catch {}
  throw new InvalidArgumentError(
    'Use the input of a run as JSON, such as \'{"prompt": "Hi"}\', or the ID of an example.',
  );
}

/** The request may be sent twice: the second then finds the deployment. */
async function create(
  service: Service,
  path: string,
  query: string,
  settings: object,
  namesModel: boolean,
): Promise<ChangedDeployment> {
  if (!namesModel)
    throw new Misuse(`There is no deployment ${path}. Name the model that it shall run.`);
  const name = path.split("/")[1];
  return service.post(`/deployments${query}`, changedDeployment, {
    body: { name, ...settings },
    made: async () => {
      if (!(await isDeployment(service, path))) return undefined;
      return { ...(await service.get(`/deployments/${path}`, deployment)), displaces: [] };
    },
  });
}

function textOf(
  { current_release, next_release, displaces }: ChangedDeployment,
  path: string,
  isDry: boolean,
): string {
  const release = next_release ?? current_release;
  const runs = `${release?.model ?? "a deleted model"}:${release?.version} as release ${release?.number}`;
  const stopped = displaces.map(
    ({ model, containers }) => `${containers} of ${model ?? "other accounts"}`,
  );
  return [
    isDry
      ? `${path} would run ${runs}. Nothing was changed.`
      : next_release
        ? `${path} starts ${runs}. To see whether it takes over: auspex deployments releases ${path}`
        : `${path} runs ${runs}.`,
    ...(stopped.length > 0 ? [`Containers that stop for it: ${stopped.join(", ")}.`] : []),
  ].join("\n");
}

/** Goes back to the release before. @returns undefined if there is no such deployment */
export async function rollBackDeployment(
  service: Service,
  path: string,
): Promise<Deployment | undefined> {
  if (!(await isDeployment(service, path))) return undefined;
  return service.post(`/deployments/${path}/rollback`, deployment);
}
