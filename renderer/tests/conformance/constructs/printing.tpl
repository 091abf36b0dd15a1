{{ .Values.data.big }} {{ .Values.data.huge }} {{ .Values.data.half }} {{ .Values.data.zero }}
=====
{{ .Values.data.letters }} {{ .Values.data.labels }} {{ .Values.data.mixed }} {{ .Values.data.nested }}
=====
{{ .Values.data.people }}
=====
{{ .Values.data.emptyList }} {{ .Values.data.emptyMap }}
=====
{{ list }} {{ dict }} {{ list nil }} {{ dict "a" nil }}
=====
{{ list "a" 1 1.5 true nil (list 1) (dict "x" "y") }}
=====
{{ printf "%v" .Values.data.mixed }}
=====
{{ printf "%v %v %v %v %v" nil true 1 1.5 "x" }}
=====
{{ printf "%v" (dict "b" 1 "a" (list 1 2)) }}
=====
{{ printf "%s" "x" }}{{ printf "%q" "x" }}{{ printf "%d" 5 }}{{ printf "%05d" 42 }}{{ printf "%x" 255 }}{{ printf "%X" 255 }}{{ printf "%o" 8 }}{{ printf "%b" 5 }}{{ printf "%c" 65 }}
=====
{{ printf "%d" .Values.data.replicas }}
=====
{{ printf "%d" (int .Values.data.replicas) }}
=====
{{ printf "%s" .Values.data.replicas }}
=====
{{ printf "%f" .Values.data.half }}{{ printf "%.2f" 1.005 }}{{ printf "%5.1f|" 3.14159 }}{{ printf "%e" 12345.678 }}{{ printf "%g" 1e21 }}
=====
{{ printf "%t" true }}{{ printf "%5s|" "ab" }}{{ printf "%-5s|" "ab" }}{{ printf "%+d" 5 }}{{ printf "%%" }}
=====
{{ printf "%d" "x" }}{{ printf "%s" 5 }}{{ printf "%d" }}{{ printf "x" 1 }}{{ printf "%z" 1 }}
=====
{{ printf "%[2]s %[1]s" "a" "b" }}{{ printf "%*d" 5 42 }}
=====
{{ printf "%v %+v %#v" "a" "b" "c" }}
=====
{{ printf "%#v" (list 1 "a") }}
=====
{{ printf "%T %T %T %T %T" "a" 1.5 true (list) (dict) }}
=====
{{ printf "%s" nil }}{{ printf "%v" .Values.missing }}
=====
{{ printf "%s-%s" .Release.Name "x" | trunc 63 | trimSuffix "-" }}
=====
{{ print "a" "b" }}{{ print 1 2 }}{{ print "a" 1 2 "b" }}{{ print nil }}{{ println "x" }}
=====
{{ quote .Values.data.replicas }} {{ quote .Values.data.big }} {{ quote .Values.data.half }} {{ quote nil }} {{ quote true }} {{ quote "a\"b" }}
=====
{{ squote 1 }} {{ squote "a" nil "b" }}
=====
{{ toString .Values.data.big }} {{ toString 1.0 }} {{ toString true }} {{ toString (list 1 2) }}
=====
{{ int .Values.data.big }} {{ int64 "12" }} {{ float64 "1.50" }} {{ int "0x1f" }} {{ int "x" }} {{ int nil }}
=====
{{ add 1 .Values.data.replicas }} {{ sub 5 2 }} {{ mul 2 3.7 }} {{ div 7 2 }} {{ mod 7 3 }} {{ div -7 2 }}
=====
{{ div 1 0 }}
=====
{{ add "1" "2" }} {{ add1 .Values.data.one }} {{ max 1 5 3 }} {{ min 1 5 3 }} {{ floor 2.7 }} {{ ceil 2.1 }} {{ round 2.567 2 }}
=====
{{ addf 1.5 2 }} {{ mulf 1000 1000 }} {{ divf 1 3 }} {{ subf 5 2.5 }}
=====
{{ toYaml .Values.data.labels }}
=====
{{ toYaml .Values.data }}
=====
{{ toYaml .Values.scalars | nindent 2 }}
=====
{{ toYaml nil }} {{ toYaml "" }} {{ toYaml "true" }} {{ toYaml "1" }} {{ toYaml 1 }} {{ toYaml 1.5 }} {{ toYaml .Values.data.big }}
=====
{{ toYaml (list) }} {{ toYaml (dict) }} {{ toYaml .Values.missing }}
=====
{{ toYaml (list "yes" "no" "on" "off" "y" "n" "null" "~" "" " a" "a " "a: b" "a #b" "- a" "1.0" "1e3" "0x1" "0o7" "010" "1_000" "2024-01-01" "=" "<<" "@a" "%a" "!a" "&a" "*a" "|" ">" "a\nb" "a\tb" "'" "\"") }}
=====
{{ toYaml (dict "a" "multi\nline\n" "b" "multi\nline" "c" "\n" "d" " lead\nline\n") }}
=====
{{ toYaml (dict "z" 1 "a" (list (dict "x" 1 "y" (list 1 2)) "s") "m" (dict)) }}
=====
{{ toJson .Values.data.people }} {{ toJson nil }} {{ toJson "<&>" }} {{ toRawJson "<&>" }} {{ toJson 1.0 }} {{ toJson 1e21 }}
=====
{{ toPrettyJson (dict "a" (list 1 2) "b" (dict)) }}
=====
{{ fromYaml "a: 1\nb: [1, 2.5]\nc: 1000000" | toJson }} {{ (fromYaml "a: 1000000").a }} {{ (fromJson "{\"a\": 1000000}").a }}
=====
{{ fromYamlArray "- a\n- 1" | toJson }} {{ fromJsonArray "[1, \"a\"]" | toJson }}
=====
{{ kindOf .Values.data.replicas }} {{ kindOf "a" }} {{ kindOf (list) }} {{ kindOf (dict) }} {{ kindOf nil }} {{ kindOf true }} {{ kindOf .Values }}
=====
{{ typeOf .Values.data.replicas }} {{ typeOf "a" }} {{ typeOf (list) }} {{ typeOf (dict) }} {{ typeOf nil }} {{ typeOf .Values }} {{ typeOf .Values.data }}
=====
{{ kindIs "map" .Values.data.labels }} {{ kindIs "slice" .Values.data.letters }} {{ kindIs "string" .Values.data.name }} {{ kindIs "invalid" .Values.missing }} {{ kindIs "float64" .Values.data.one }} {{ kindIs "bool" true }}
=====
{{ .Release.Name }} {{ .Release.Namespace }} {{ .Release.Service }} {{ .Release.IsInstall }} {{ .Release.IsUpgrade }} {{ .Release.Revision }} {{ .Release.Missing }}
=====
{{ .Release.missing.deeper }}
=====
{{ .Template.Name }} {{ .Template.BasePath }}
=====
{{ .Chart.Name }} {{ .Chart.Version }} [{{ .Chart.AppVersion }}] {{ .Chart.IsRoot }} {{ .Chart.Type }}
=====
{{ .Chart.Missing }}
=====
{{ .Chart.name }}
=====
{{ .Missing }} {{ .Missing.deeper }}
=====
{{ .Files.Get "missing.txt" }}[{{ .Files.Lines "missing.txt" }}][{{ .Files.Glob "x*" | len }}]
=====
{{ range $path, $bytes := .Files.Glob "*" }}{{ $path }}{{ else }}none{{ end }}
=====
{{ (.Files.Glob "none/*").AsConfig }}|{{ (.Files.Glob "none/*").AsSecrets }}
=====
{{ .Subcharts }}
=====
{{ tpl "{{ .Values.data.name }}" . }} {{ tpl "plain" . }} {{ tpl "{{ . }}" 5 }} {{ tpl "[{{ .Values.missing }}]" . }}
=====
{{ tpl "{{ define \"x\" }}in{{ end }}{{ include \"x\" . }}" . }}
=====
{{ tpl "{{ define \"x\" }}in{{ end }}" . }}{{ include "x" . }}
=====
{{ define "x" }}out{{ end }}{{ tpl "{{ include \"x\" . }}" . }}
=====
{{ define "x" }}out{{ end }}{{ tpl "{{ define \"x\" }}in{{ end }}{{ include \"x\" . }}" . }}{{ include "x" . }}
=====
{{ tpl "{{ if }}" . }}
=====
{{ tpl "{{ .x.y }}" (dict) }}
=====
{{ tpl (toYaml .Values.data.labels) . }}
=====
{{ tpl "{{ $ }}{{ .a }}" (dict "a" 1) }}
=====
[{{ .Values.missing }}] [{{ .Values.missing | quote }}] [{{ .Values.missing | default "d" }}] [{{ .Values.missing | toString }}]
=====
[{{ .Values.data.nothing | quote }}] [{{ .Values.data.nothing | toYaml }}] [{{ .Values.data.nothing | toJson }}]
=====
{{ define "n" }}{{ .Values.missing }}{{ end }}[{{ include "n" . }}] [{{ include "n" . | quote }}] [{{ include "n" . | len }}]
=====
<no value>
=====
{{ "<no value>" }}
=====
{{ required "needed" .Values.missing }}
=====
{{ required "needed" .Values.data.name }} {{ required "needed" 0 }} {{ required "needed" false }}
=====
{{ lookup "v1" "Secret" "ns" "name" }}{{ (lookup "v1" "Secret" "ns" "name").data }}
=====
{{ $s := lookup "v1" "Secret" "ns" "name" }}{{ if $s }}yes{{ else }}no{{ end }}
=====
{{ default (randAlphaNum 10) "set" }}
=====
{{ "set" | default (randAscii 5) | quote }}
=====
{{ $p := "x" | default uuidv4 }}{{ $p }}
