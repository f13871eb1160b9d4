/** The operator's settings for containers, and the defaults of the sandbox. */
export interface ProcessOptions {
  kind: "process";
  models: string;
  /** The directory for the pid files, which must outlive the runner. */
  state: string;
}

export interface Sandbox {
  /**
   * The memory of a container. By default the share of the hardware class (devices/share.ts), as for cpus and
   * shm_bytes.
   */
  memory_bytes?: number | undefined;
  /** Cores, may be fractional; 0 means all. */
  cpus?: number | undefined;
  /** The limit of bytes that the container writes; 0 means unlimited. By default an equal share. */
  disk_bytes?: number | undefined;
  /** The `user:group` of containers; by default the image's. */
  user?: string | undefined;
  /** A Docker runtime, such as `runsc` or `kata`; by default Docker's default. */
  runtime?: string | undefined;
  /** The Docker runtimes for containers of certain classes of hardware. */
  class_runtimes?: ReadonlyMap<string, string>;
  /** The limit of processes and threads together. */
  pids: number;
  /** Size of /dev/shm, which counts as memory. */
  shm_bytes?: number | undefined;
  /** The capabilities of Docker's default set that containers keep; all others are dropped. */
  capabilities: readonly string[];
  readonly_rootfs: boolean;
  /** Whether containers may reach the public internet. */
  egress: boolean;
  /** Public resolvers, since the machine's own often have private addresses, which are blocked. */
  dns: readonly string[];
}

export interface DockerOptions {
  kind: "docker";
  /** The socket of Docker or Podman. */
  socket?: string;
  /** The URL of the deployment, whose registry has images. */
  deployment?: string;
  /** The directory for the record of pulled images, which must outlive the runner. */
  state?: string;
  /**
   * How much of Docker's disk is kept free by removing images that this runner has pulled. 0: none are
   * removed. By default a tenth of the disk (disk/evictable.ts).
   */
  free_bytes?: number;
  /** The port that containers listen on. */
  port?: number;
  sandbox?: Partial<Sandbox>;
  /** How many containers run at a time, which determines each one's share of the disk. */
  containers?: number;
  /**
   * `required`: no container starts without the rules that block this machine and its private
   * network. `off`: for machines that cannot have them, and models that are trusted.
   */
  firewall?: "required" | "off";
  /** The pause between two checks of the firewall and of the containers' disk usage. */
  watch_interval_ms?: number;
}

export type EngineOptions = ProcessOptions | DockerOptions;

export const DEFAULT_SOCKET = "/var/run/docker.sock";

export const DEFAULT_SANDBOX: Sandbox = {
  pids: 4_096,
  capabilities: ["CHOWN", "DAC_OVERRIDE", "FOWNER", "SETGID", "SETUID", "NET_BIND_SERVICE"],
  readonly_rootfs: false,
  egress: true,
  dns: ["1.1.1.1", "8.8.8.8"],
};
