/** What an operator may set about containers; the defaults are those of the sandbox. */
import { totalmem } from "node:os";

export interface ProcessOptions {
  kind: "process";
  /** The folder whose subfolders are models. */
  models: string;
  /** Where the runner keeps what must outlive it: the pid files. */
  state: string;
}

export interface Sandbox {
  memory_bytes: number;
  /** Cores, also in fractions; 0 is all of them. */
  cpus: number;
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
  /**
   * `required`: no container starts without the rules that keep it off this machine and its
   * private network. `off`: for machines that cannot have them, and models that are trusted.
   */
  firewall?: "required" | "off";
  /** Between two looks at what containers must not get round, ms. */
  watch_ms?: number;
}

export type EngineOptions = ProcessOptions | DockerOptions;

export const DEFAULT_SOCKET = "/var/run/docker.sock";

export const DEFAULT_SANDBOX: Sandbox = {
  // A container may not take the machine down: a tenth stays for everything else.
  memory_bytes: Math.floor(totalmem() * 0.9),
  cpus: 0,
  pids: 4_096,
  shm_bytes: 1024 ** 3,
  capabilities: ["CHOWN", "DAC_OVERRIDE", "FOWNER", "SETGID", "SETUID", "NET_BIND_SERVICE"],
  readonly_rootfs: false,
  egress: true,
  dns: ["1.1.1.1", "8.8.8.8"],
};
