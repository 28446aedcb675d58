# One image with four commands: worker (the default), ingress, desk, faretrail. `--target sandbox` adds the stand-in of the service.
ARG NODE_VERSION=24.21.0

FROM node:${NODE_VERSION}-bookworm-slim AS build
WORKDIR /build
COPY package.json package-lock.json .npmrc ./
RUN npm ci --no-audit --no-fund
COPY tsconfig.json tsconfig.build.json ./
COPY dev/stack dev/stack
COPY dev/sandbox dev/sandbox
COPY src src
# Compiles, and bundles the workflows, so that a worker needs neither sources nor time for it at its start.
RUN node dev/stack/prepare.mjs
# What is in the image, for those who look for known faults in it.
RUN npm sbom --omit=dev --sbom-format=cyclonedx > sbom.cdx.json
# What is left of the packages is what runs; the native library comes for five platforms.
RUN npm prune --omit=dev --no-audit --no-fund \
  && find node_modules/@temporalio/core-bridge/releases -mindepth 1 -maxdepth 1 ! -name "$(uname -m)-unknown-linux-gnu" -exec rm -r {} +
# The authorities that Node brings along, as the CA file of the system: Temporal's native library trusts that file, of which a slim image has none.
RUN node --print 'tls.rootCertificates.join("\n")' > ca-certificates.crt

FROM node:${NODE_VERSION}-bookworm-slim AS runtime
WORKDIR /app
ENV NODE_ENV=production TZ=UTC PATH=/app/bin:$PATH
# Freed memory goes back to the system.
ENV MALLOC_ARENA_MAX=2 MALLOC_MMAP_THRESHOLD_=65536 MALLOC_TRIM_THRESHOLD_=131072
# A new volume takes its owner from here.
ENV FARETRAIL_JOURNAL_DIR=/var/lib/faretrail/journal
RUN install -d -o 1000 -g 1000 -m 700 /var/lib/faretrail/journal
COPY --from=build /build/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build /build/package.json /build/sbom.cdx.json ./
COPY --from=build /build/node_modules node_modules
COPY --from=build /build/dist/src dist/src
COPY deploy/image/bin bin
# Tells this build from others where workers are versioned, see docs/how-to/upgrade.md.
ARG BUILD_ID
ENV TEMPORAL_WORKER_BUILD_ID=$BUILD_ID
USER 1000:1000
CMD ["worker"]

FROM runtime AS sandbox
COPY --from=build /build/dist/dev/sandbox dist/dev/sandbox
COPY deploy/image/sandbox-bin bin
CMD ["sandbox"]

FROM runtime AS faretrail
