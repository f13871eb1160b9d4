/** The used part of the module's types: Node's types would change those of the Worker's timers. */
declare module "node:async_hooks" {
  export class AsyncLocalStorage<Store> {
    run<Result>(store: Store, code: () => Result): Result;
    getStore(): Store | undefined;
  }
}
