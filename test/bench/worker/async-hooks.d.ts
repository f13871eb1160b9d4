/** As much as is used of it: the types of Node would change those of the Worker's timers. */
declare module "node:async_hooks" {
  export class AsyncLocalStorage<Store> {
    run<Result>(store: Store, code: () => Result): Result;
    getStore(): Store | undefined;
  }
}
