# One image for every role; its command is davit. Any builder of OCI images takes it:
#   docker build -t davit:0.1.0 .        buildah bud -t davit:0.1.0 .
# The first base needs Node 24 and npm, the second Node 24 alone; both can be replaced by --build-arg.
ARG BUILD_BASE=docker.io/library/node:24-bookworm-slim
ARG BASE=docker.io/library/node:24-bookworm-slim

FROM ${BUILD_BASE} AS build
WORKDIR /src
COPY package.json package-lock.json .npmrc ./
RUN npm ci --ignore-scripts --prefer-offline --include=dev --include=optional
COPY tsconfig.json tsconfig.build.json ./
COPY tools/build.ts tools/
COPY crds crds
COPY src src
RUN node tools/build.ts

FROM ${BUILD_BASE} AS dependencies
WORKDIR /src
COPY package.json package-lock.json .npmrc ./
RUN npm ci --ignore-scripts --prefer-offline --omit=dev --omit=optional
# davit on PATH, made here because the base of the image may have no shell.
RUN mkdir -p /root-of-image/usr/local/bin && ln -s /app/dist/main.js /root-of-image/usr/local/bin/davit

FROM ${BASE}
ENV NODE_ENV=production
COPY --from=dependencies /root-of-image /
COPY --from=dependencies /src/node_modules /app/node_modules
COPY package.json LICENSE /app/
COPY crds /app/crds
COPY --from=build /src/dist /app/dist
# As a number, so that runAsNonRoot can be checked. Nothing in the image belongs to it and nothing is written.
USER 65532:65532
WORKDIR /app
ENTRYPOINT ["node", "/app/dist/main.js"]
CMD ["--help"]
