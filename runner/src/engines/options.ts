/** What an operator may set about containers; the defaults are those of the sandbox. */
export interface ProcessOptions {
  kind: "process";
  /** The folder whose subfolders are models. */
  models: string;
  /** Where the runner keeps what must outlive it: the pid files. */
  state: string;
}

export interface Sandbox {
  /** An equal share for each container when absent, as all three of them (shares.ts). */
  memory_bytes?: number | undefined;
  /** Cores, also in fractions; 0 is all of them. */
  cpus?: number | undefined;
  /** Of what it writes; 0 is no bound. */
  disk_bytes?: number | undefined;
  /** `user:group` that containers run as; the image's own when absent. */
  user?: string | undefined;
  /** Docker's, as `runsc` or `kata`; its default one when absent. */
  runtime?: string | undefined;
  /** Processes and threads together. */
  pids: number;
  /** /dev/shm; counts as memory. Docker's 64 MB break the data loaders of PyTorch. */
  shm_bytes: number;
  /** Of those Docker would give; all others are dropped. */
  capabilities: readonly string[];
  readonly_rootfs: boolean;
  /** Whether containers reach the public internet. */
  egress: boolean;
  /** Public resolvers: the machine's own are often private addresses, which are blocked. */
  dns: readonly string[];
}

export interface DockerOptions {
  kind: "docker";
  /** The socket of Docker or Podman. */
  socket?: string;
  /** `image`: for those that ask for them (`run.cog.config`, or built on NVIDIA's own images). */
  gpus?: "image" | "always" | "never";
  /** What containers are told to listen on. */
  port?: number;
  sandbox?: Partial<Sandbox>;
  /** How many there may be at a time: what each has a share for. */
  containers?: number;
  /**
   * `required`: no container starts without the rules that keep it off this machine and its
   * private network. `off`: for machines that cannot have them, and models that are trusted.
   */
  firewall?: "required" | "off";
  /** Between two looks at what containers must not get round, ms. */
  watch_interval_ms?: number;
}

export type EngineOptions = ProcessOptions | DockerOptions;

export const DEFAULT_SOCKET = "/var/run/docker.sock";

export const DEFAULT_SANDBOX: Sandbox = {
  pids: 4_096,
  shm_bytes: 1024 ** 3,
  capabilities: ["CHOWN", "DAC_OVERRIDE", "FOWNER", "SETGID", "SETUID", "NET_BIND_SERVICE"],
  readonly_rootfs: false,
  egress: true,
  dns: ["1.1.1.1", "8.8.8.8"],
};
