import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runtimeOf } from "../../../runner/src/engines/docker/info.ts";
import {
  capacityOf,
  engineOptions,
  fileOptions,
  gpuSource,
  help,
  parseArguments,
  readSettings,
  SettingsError,
  weightOptions,
} from "../../../runner/src/settings/read-settings.ts";
import { SETTING_NAMES, variableOf } from "../../../runner/src/settings/settings.ts";

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), "auspex-config-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

function file(name: string, content: unknown): string {
  const target = path.join(folder, name);
  writeFileSync(target, typeof content === "string" ? content : JSON.stringify(content));
  return target;
}

const environment = {
  AUSPEX_URL: "https://auspex.test/",
  AUSPEX_RUNNER_TOKEN: "ausr_secret1",
  AUSPEX_HARDWARE: "cpu",
};

test("settings have defaults", () => {
  expect(readSettings({ name: "box" }, environment)).toEqual({
    url: "https://auspex.test",
    token: "ausr_secret1",
    hardware: ["cpu"],
    name: "box",
    engine: "docker",
    firewall: "required",
    cache_gb: 20,
    cache_hours: 72,
    weights_gb: 200,
    max_file_gb: 10,
    fetch_allow: [],
    drain_seconds: 600,
    cancel_seconds: 30,
    log_level: "info",
    log_format: "text",
  });
});

test("flags take precedence over the environment, and that over the file; empty variables count as unset", () => {
  const config = file("a.json", { hardware: "file", name: "file", slots: 2, egress: false });
  const variables = {
    ...environment,
    AUSPEX_SLOTS: "3",
    AUSPEX_NAME: "variable",
    AUSPEX_STATE: "",
  };
  const given = readSettings({ config, slots: "4", "log-format": "json" }, variables);
  expect(given).toMatchObject({
    hardware: ["cpu"],
    name: "variable",
    slots: 4,
    egress: false,
    log_format: "json",
  });
});

test("several classes of hardware are listed, each once", () => {
  const classes = (hardware: string) => readSettings({ hardware }, environment).hardware;
  expect(classes("l40s, l40s-x4,l40s")).toEqual(["l40s", "l40s-x4"]);
  const many = Array.from({ length: 17 }, (_, n) => `hw${n}`);
  for (const wrong of ["l40s,", many.join()])
    expect(() => readSettings({ hardware: wrong }, environment)).toThrow("--hardware");
});

test("the number of containers can be limited", () => {
  expect(readSettings({ containers: "1", slots: "32" }, environment)).toMatchObject({
    containers: 1,
    slots: 32,
  });
  for (const containers of ["0", "257"])
    expect(() => readSettings({ containers }, environment)).toThrow("--containers");
});

test("the token is read from a file", () => {
  const flags = { "token-file": file("token", "ausr_fromfile\n") };
  const config = readSettings(flags, { ...environment, AUSPEX_RUNNER_TOKEN: undefined });
  expect(config.token).toBe("ausr_fromfile");
  expect(config).not.toHaveProperty("token_file");
});

test("the settings become options of the engines", () => {
  const docker = readSettings(
    { "memory-gb": "2", capabilities: "CHOWN, SETUID", "read-only": "yes" },
    environment,
  );
  const capacity = { slots: 8, containers: 4 };
  expect(engineOptions(docker, capacity)).toMatchObject({
    containers: 4,
    kind: "docker",
    sandbox: {
      memory_bytes: 2 * 1024 ** 3,
      pids: 4_096,
      capabilities: ["CHOWN", "SETUID"],
      readonly_rootfs: true,
      egress: true,
    },
  });
  const process = readSettings({ engine: "process", models: "/models", state: "/s" }, environment);
  expect(engineOptions(process, capacity)).toEqual({
    kind: "process",
    models: "/models",
    state: "/s",
  });
});

test("a container's share is for the greatest number of containers, and its runtime is set by class", () => {
  const options = (flags: Record<string, string>) => {
    const settings = readSettings({ hardware: "l40s", ...flags }, environment);
    const chosen = engineOptions(settings, capacityOf(settings, 0));
    return chosen.kind === "docker" ? chosen : undefined;
  };
  expect(options({ slots: "8" })).toMatchObject({ containers: 8 });
  expect(options({ slots: "32", containers: "1" })).toMatchObject({ containers: 1 });
  const runtime = (list: string) => options({ runtime: list })?.sandbox?.runtime;
  expect(runtime("runsc")).toBe("runsc");
  expect(runtime("kata,l40s=runsc")).toBe("runsc");
  expect(runtime("kata,cpu=runsc")).toBe("kata");
  expect(runtime("cpu=runsc")).toBeUndefined();
  const runtimes = (runtime: string) => {
    const { sandbox = {} } = options({ hardware: "l40s,l40s-x4", runtime }) ?? {};
    return ["l40s", "l40s-x4"].map((name) => runtimeOf(sandbox, name));
  };
  expect(runtimes("runsc")).toEqual(["runsc", "runsc"]);
  expect(runtimes("l40s=runsc")).toEqual(["runsc", undefined]);
  expect(runtimes("kata,l40s-x4=runsc")).toEqual(["kata", "runsc"]);
  expect(runtimes("l40s=runsc,l40s-x4=kata")).toEqual(["runsc", "kata"]);
  expect(runtimes("l40s=runsc,l40s-x4=runsc")).toEqual(["runsc", "runsc"]);
  expect(() => options({ runtime: "a b" })).toThrow("--runtime");
  expect(() => options({ user: "a b" })).toThrow("--user");
  const sandbox = { user: "65534:65534", disk_bytes: 3 * 1024 ** 3 };
  expect(options({ user: "65534:65534", "disk-gb": "3" })?.sandbox).toMatchObject(sandbox);
});

test.each([
  [{}, 0, { slots: 1, containers: 1 }],
  [{}, 8, { slots: 8, containers: 8 }],
  [{ slots: "32" }, 1, { slots: 32, containers: 32 }],
  // A limit of two containers would leave some GPUs unused.
  [{ slots: "2" }, 8, { slots: 2, containers: 8 }],
  // A snapshot cannot have more containers than this.
  [{ slots: "1000" }, 8, { slots: 1_000, containers: 256 }],
  [{ slots: "64", containers: "12" }, 8, { slots: 64, containers: 12 }],
])("the capacity of %j with %i GPUs is computed", (flags, gpus, capacity) => {
  expect(capacityOf(readSettings(flags, environment), gpus)).toEqual(capacity);
});

test("the GPUs are pretended or selected by settings", async () => {
  const listed = async (flags: Record<string, string>) =>
    (await gpuSource(readSettings(flags, environment)).list()).map(({ id }) => id);
  expect(await listed({ "pretend-gpus": "2" })).toEqual(["GPU-pretend-0", "GPU-pretend-1"]);
  const some = { "pretend-gpus": "4", "gpu-devices": "GPU-pretend-3, GPU-pretend-1" };
  expect(await listed(some)).toEqual(["GPU-pretend-3", "GPU-pretend-1"]);
  expect(() => readSettings({ "gpu-devices": "0,1" }, environment)).toThrow("--gpu-devices");
});

test("the settings of input files are their folder and their allowed addresses", () => {
  const GB = 1024 ** 3;
  const HOUR = 3_600_000;
  expect(fileOptions(readSettings({ name: "box" }, environment))).toEqual({
    cache: path.join(homedir(), ".cache", "auspex-runner", "box"),
    cache_bytes: 20 * GB,
    cache_ms: 72 * HOUR,
    max_file_bytes: 10 * GB,
    fetch_allow: [],
  });
  const variables = { AUSPEX_CACHE_GB: "0.5", AUSPEX_FETCH_ALLOW: "10.1.0.0/16, fd12::/16" };
  const flags = { cache: "/var/cache/auspex", "max-file-gb": "0.25", "cache-hours": "0.5" };
  expect(fileOptions(readSettings(flags, { ...environment, ...variables }))).toEqual({
    cache: "/var/cache/auspex",
    cache_bytes: GB / 2,
    cache_ms: HOUR / 2,
    max_file_bytes: GB / 4,
    fetch_allow: ["10.1.0.0/16", "fd12::/16"],
  });
});

test("the settings of weights are their folder and their source", () => {
  expect(weightOptions(readSettings({ name: "box" }, environment))).toEqual({
    directory: path.join(homedir(), ".local", "state", "auspex-runner", "box", "weights"),
    bytes: 200 * 1024 ** 3,
    url: "https://auspex.test",
  });
  const flags = { state: "/var/lib/auspex", "weights-gb": "0.5" };
  expect(weightOptions(readSettings(flags, environment))).toMatchObject({
    directory: "/var/lib/auspex/weights",
    bytes: 1024 ** 3 / 2,
  });
});

test.each([
  [
    "a missing setting",
    {},
    { AUSPEX_HARDWARE: undefined },
    "hardware (--hardware, AUSPEX_HARDWARE): is required",
  ],
  [
    "a missing token",
    {},
    { AUSPEX_RUNNER_TOKEN: "" },
    "token (--token-file, AUSPEX_RUNNER_TOKEN): is required",
  ],
  ["no number", { slots: "many" }, {}, "slots (--slots, AUSPEX_SLOTS):"],
  [
    "no address",
    {},
    { AUSPEX_URL: "ftp://x" },
    "url (--url, AUSPEX_URL): must be an http or https URL",
  ],
  [
    "no range",
    { "fetch-allow": "10.0.0.1" },
    {},
    "fetch_allow (--fetch-allow, AUSPEX_FETCH_ALLOW):",
  ],
  [
    "half a range",
    { "fetch-allow": "10.0.0.0/8,10.0.0.0/33" },
    {},
    "must be a list of CIDR ranges, such as 10.1.0.0/16",
  ],
  ["process engine without models", { engine: "process" }, {}, "models (--models, AUSPEX_MODELS)"],
  ["no such file", { config: "/nowhere.json" }, {}, "/nowhere.json"],
])("a wrong setting is refused: %s", (_name, flags, variables, message) => {
  expect(() => readSettings(flags, { ...environment, ...variables })).toThrow(message);
});

test("an unknown setting of the file is refused by its name", () => {
  const config = file("b.json", { hardwear: "x" });
  expect(() => readSettings({ config }, environment)).toThrow(/hardwear/);
});

test("no error message repeats a token", () => {
  const secret = "aus_usertoken";
  const broken = file("c.json", `{"token": "${secret}",}`);
  for (const act of [
    () => readSettings({}, { ...environment, AUSPEX_RUNNER_TOKEN: secret }),
    () => readSettings({ config: broken }, environment),
    () => readSettings({ "token-file": file("bad", secret) }, environment),
  ]) {
    expect(act).toThrow();
    expect(act).not.toThrow(new RegExp(secret));
  }
});

test("the address for metrics is a host or an IP address, and a port", () => {
  const addressOf = (address: string) =>
    readSettings({ "metrics-address": address }, environment).metrics_address;
  expect(addressOf("127.0.0.1:9464")).toEqual({ host: "127.0.0.1", port: 9_464 });
  expect(addressOf("gpu-1.example.com:1")).toEqual({ host: "gpu-1.example.com", port: 1 });
  expect(addressOf("[fd00::1]:9464")).toEqual({ host: "fd00::1", port: 9_464 });
  for (const wrong of ["9464", ":9464", "::1:9464", "box:", "box:65536", "http://box:9464"])
    expect(() => addressOf(wrong)).toThrow("must be HOST:PORT");
});

test("the help names every setting", () => {
  for (const name of SETTING_NAMES) expect(help()).toContain(variableOf(name));
});

test("flags and a command are parsed", () => {
  const { values, positionals } = parseArguments(["check", "--slots", "2", "--json"]);
  expect(positionals).toEqual(["check"]);
  expect(values).toMatchObject({ slots: "2", json: true });
});

test.each([
  [["--slot", "2"], "Unknown option '--slot'; see --help"],
  [["--slots"], "Option '--slots <value>' argument missing; see --help"],
  [["--json=yes"], "Option '--json' does not take an argument; see --help"],
  [["--token", "ausr_x"], "Unknown option '--token'; see --help"],
])("the arguments %j are refused in one line", (args, message) => {
  expect(() => parseArguments(args)).toThrow(new SettingsError(message));
});
