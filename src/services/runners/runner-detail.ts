import type { ReportedRunner } from "../../objects/stubs/pool.ts";
import type {
  RunnerContainer,
  RunnerDetail,
  RunnerState,
  RunnerWork,
} from "../../protocol/fleet.ts";
import { findUsernames } from "../../storage/accounts/users.ts";
import { findRunner } from "../../storage/runners/runners.ts";
import type { Services } from "../services.ts";
import { withTimeout } from "../with-timeout.ts";
import { unknownRunner } from "./fleet.ts";
import { findMadePools } from "./pools.ts";
import { readStates } from "./runner-states.ts";

/** How long an object may take: the answer of a slower one is left out. */
export const ANSWER_MS = 500;

/** @throws ProblemError not_found */
export async function readRunner(services: Services, id: string): Promise<RunnerDetail> {
  const row = await findRunner(services.db, id);
  if (!row) throw unknownRunner(id);
  const [[state], reports] = await Promise.all([
    readStates(services, [row], ANSWER_MS),
    readReports(services, [row]),
  ]);
  if (!state) throw unknownRunner(id);
  const [detail] = await withReports(services, [state], reports);
  return detail ?? { ...state, reported: null, work: [] };
}

/** Returns the runners with what their pools know of them. A pool that does not answer in time is left out. */
export async function readDetails(
  services: Services,
  runners: RunnerState[],
): Promise<RunnerDetail[]> {
  return withReports(services, runners, await readReports(services, runners));
}

async function readReports(
  services: Services,
  runners: { id: string; pool: string }[],
): Promise<ReadonlyMap<string, ReportedRunner>> {
  const byPool = Map.groupBy(runners, ({ pool }) => pool);
  const pools = await findMadePools(services, [...byPool.keys()]);
  const answers = await Promise.all(
    pools.map(({ name, pool }) => {
      const ids = byPool.get(name)?.map(({ id }) => id) ?? [];
      return withTimeout(pool.reports(ids), `pool ${name}`, ANSWER_MS);
    }),
  );
  return new Map(answers.flatMap((one) => [...(one ?? [])]));
}

async function withReports(
  { db }: Services,
  runners: RunnerState[],
  reports: ReadonlyMap<string, ReportedRunner>,
): Promise<RunnerDetail[]> {
  const users = [...reports.values()].flatMap(({ jobs }) => jobs.map(({ user_id }) => user_id));
  const usernames = await findUsernames(db, [...new Set(users)]);
  return runners.map((state) => {
    const reported = reports.get(state.id);
    return {
      ...state,
      reported: reported ? presentReported(reported) : null,
      work: workOf(state.running, reported?.jobs ?? [], usernames),
    };
  });
}

const presentReported = ({
  at,
  max_containers,
  devices,
  containers,
}: ReportedRunner): RunnerDetail["reported"] => ({
  at: timeOf(at),
  max_containers,
  devices: devices.map(({ name, memory_gb, holder, lost = false }) => ({
    name,
    memory_gb,
    lost,
    container: holder,
  })),
  containers: containers.map((one) => presentContainer(one, devices)),
});

function presentContainer(
  {
    model,
    users,
    since,
    idle_since,
    memory_bytes,
    ...container
  }: ReportedRunner["containers"][number],
  devices: ReportedRunner["devices"],
): RunnerContainer {
  const { name, image, hardware, phase, max_concurrency, gpus } = container;
  const held = devices.filter(({ holder }) => holder === name).length;
  return {
    name,
    version: model,
    image,
    hardware,
    phase,
    since: timeOf(since),
    idle_since: idle_since === null ? null : timeOf(idle_since),
    running: users,
    max_concurrency,
    gpus,
    memory_bytes: memory_bytes ?? null,
    waits_for_gpus: phase === "starting" ? Math.max(0, gpus - held) : 0,
  };
}

/**
 * Returns the jobs that the runner reports itself, and those that it was handed since, with the users they
 * belong to where its pool knows them.
 */
function workOf(
  running: string[],
  jobs: ReportedRunner["jobs"],
  usernames: ReadonlyMap<string, string>,
): RunnerWork[] {
  const known = new Map(jobs.map((job) => [job.prediction_id, job]));
  return [...new Set([...known.keys(), ...running])].map((prediction_id) => {
    const job = known.get(prediction_id);
    return {
      prediction_id,
      username: (job && usernames.get(job.user_id)) ?? null,
      version: job?.model ?? null,
      since: job ? timeOf(job.at) : null,
    };
  });
}

/** Returns a date for a time that a runner reports: it may be a year ago, but is always a valid date. */
const timeOf = (at: number) => new Date(at).toISOString();
