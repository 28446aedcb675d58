import { type Client, isGrpcServiceError } from '@temporalio/client';

/** A Nexus endpoint. The workers of its task queue answer. */
export interface Endpoint {
  name: string;
  /** The task queue, in the namespace of the client. */
  taskQueue: string;
}

const alreadyExists = 6; // gRPC

/** Makes the endpoint, or points an existing one at this task queue. Several stacks may do so at the same time. */
export async function ensureEndpoint(client: Client, { name, taskQueue }: Endpoint): Promise<void> {
  const { operatorService } = client.connection;
  const spec = { name, target: { worker: { namespace: client.options.namespace, taskQueue } } };
  try {
    await operatorService.createNexusEndpoint({ spec });
  } catch (error) {
    if (!isGrpcServiceError(error) || error.code !== alreadyExists) throw error;
    const { endpoints } = await operatorService.listNexusEndpoints({ name });
    const [found] = endpoints;
    const target = found?.spec?.target?.worker;
    if (!found || (target?.taskQueue === taskQueue && target.namespace === spec.target.worker.namespace)) return;
    await operatorService.updateNexusEndpoint({ id: found.id ?? '', version: found.version ?? null, spec });
  }
}
