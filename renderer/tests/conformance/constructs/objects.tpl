{{ semver "1.2.3" | toString }}
=====
{{ semver "1.2.3" }}
=====
{{ semver "v1.2.3-rc.1+b5" }}
=====
{{ (semver "v1.2.3-rc.1+b5").Major }}
=====
{{ (semver "v1.2.3-rc.1+b5").Minor }}
=====
{{ (semver "v1.2.3-rc.1+b5").Patch }}
=====
{{ (semver "v1.2.3-rc.1+b5").Prerelease }}
=====
{{ (semver "v1.2.3-rc.1+b5").Metadata }}
=====
{{ (semver "v1.2.3-rc.1+b5").Original }}
=====
{{ (semver "v1.2.3-rc.1+b5").String }}
=====
{{ (semver "1.2").Original }} {{ semver "1.2" }}
=====
{{ (semver "1.2.3").IncMinor }}
=====
{{ (semver "1.2.3").IncPatch }}
=====
{{ (semver "1.2.3-a").IncPatch }}
=====
{{ (semver "1.2.3").IncMajor.String }}
=====
{{ (semver "1.2.3").Foo }}
=====
{{ ((semver "1.2.3").SetPrerelease "a") }}
=====
{{ ((semver "1.2.3").SetMetadata "a") }}
=====
{{ (semver "1.2.3").Compare (semver "1.2.4") }}
=====
{{ (semver "1.2.3").LessThan (semver "1.2.4") }}
=====
{{ (semver "1.2.3").GreaterThan (semver "1.2.4") }}
=====
{{ (semver "1.2.3").Equal (semver "1.2.3") }}
=====
{{ semver "1.2.3" | (semver "1.2.2").Compare }}
=====
{{ kindOf (semver "1.2.3") }}
=====
{{ typeOf (semver "1.2.3") }}
=====
{{ toJson (semver "1.2.3") }}
=====
{{ toYaml (semver "1.2.3") }}
=====
{{ semver "1.2.3" | quote }}
=====
{{ printf "%s" (semver "1.2.3") }}
=====
{{ printf "%v" (semver "v1.2.3") }}
=====
{{ printf "%d" (semver "1.2.3").Major }}
=====
{{ printf "%d.%d" (semver "1.2.3").Major (semver "1.2.3").Minor }}
=====
{{ add (semver "1.2.3").Major 1 }}
=====
{{ gt (semver "1.2.3").Minor 1 }}
=====
{{ ge (semver "1.2.3").Minor 2 }}
=====
{{ eq (semver "1.2.3").Minor 2 }}
=====
{{ (semver "1.2.3").Major | int }}
=====
{{ with semver "1.2.3" }}{{ .Major }}.{{ .Minor }}{{ end }}
=====
{{ $v := semver "1.2.3" }}{{ $v.Major }}-{{ $v.Minor }}-{{ $v.Patch }}
=====
{{ if semver "0.0.0" }}a{{ end }}
=====
{{ default "x" (semver "1.2.3") }}
=====
{{ semver "a.b" }}
=====
{{ semver "" }}
=====
{{ list (semver "1.2.3") }}
=====
{{ dict "a" (semver "1.2.3") }}
=====
{{ range semver "1.2.3" }}a{{ end }}
=====
{{ len (semver "1.2.3") }}
=====
{{ index (semver "1.2.3") "Major" }}
=====
{{ hasKey (semver "1.2.3") "Major" }}
=====
{{ cat (semver "1.2.3") }}
=====
{{ semver "1.2.3" | toString | trunc 3 }}
=====
{{ printf "%s-%s" "a" (semver "1.2.3" | toString) }}
=====
{{ deepEqual (semver "1.2.3") (semver "1.2.3") }}
=====
{{ list 1 (semver "1.2.3") | toJson }}
=====
{{ duration "90" }}
=====
{{ duration "a" }}
=====
{{ durationRound "2h10m5s" }}
=====
{{ durationRound "2400h10m5s" }}
=====
{{ durationRound 90 }}
=====
{{ toDate "2006-01-02" "2017-12-31" }}
=====
{{ toDate "2006-01-02" "2017-12-31" | date "02/01/2006" }}
=====
{{ toDate "2006-01-02" "zz" }}
=====
{{ mustToDate "2006-01-02" "zz" }}
=====
{{ (toDate "2006-01-02" "2017-12-31").Year }}
=====
{{ (toDate "2006-01-02" "2017-12-31").Day }}
=====
{{ (toDate "2006-01-02" "2017-12-31").Weekday }}
=====
{{ (toDate "2006-01-02" "2017-12-31").Unix }}
=====
{{ (toDate "2006-01-02" "2017-12-31").YearDay }}
=====
{{ (toDate "2006-01-02" "2017-12-31").UTC }}
=====
{{ (toDate "2006-01-02" "2017-12-31").String }}
=====
{{ (toDate "2006-01-02" "2017-12-31").Format "2006" }}
=====
{{ (toDate "2006-01-02" "2017-12-31").IsZero }}
=====
{{ (toDate "2006-01-02" "2017-12-31").Hour }}
=====
{{ printf "%v" (toDate "2006-01-02" "2017-12-31") }}
=====
{{ printf "%s" (toDate "2006-01-02" "2017-12-31") }}
=====
{{ toDate "2006-01-02" "2017-12-31" | toString }}
=====
{{ toDate "2006-01-02" "2017-12-31" | quote }}
=====
{{ toDate "2006-01-02" "2017-12-31" | toJson }}
=====
{{ toDate "2006-01-02" "2017-12-31" | toYaml }}
=====
{{ toDate "2006-01-02T15:04:05Z07:00" "2017-12-31T01:02:03+02:00" }}
=====
{{ toDate "2006-01-02T15:04:05Z07:00" "2017-12-31T01:02:03+02:00" | toJson }}
=====
{{ toDate "2006-01-02 15:04:05.000" "2017-12-31 01:02:03.120" }}
=====
{{ kindOf (toDate "2006-01-02" "2017-12-31") }}
=====
{{ typeOf (toDate "2006-01-02" "2017-12-31") }}
=====
{{ toDate "2006-01-02" "2017-12-31" | unixEpoch }}
=====
{{ toDate "2006-01-02" "2017-12-31" | dateModify "-1.5h" }}
=====
{{ toDate "2006-01-02" "2017-12-31" | dateModify "bad" }}
=====
{{ toDate "2006-01-02" "2017-12-31" | mustDateModify "bad" }}
=====
{{ toDate "2006-01-02" "2017-12-31" | date_modify "24h" | date "2006-01-02" }}
=====
{{ toDate "2006-01-02" "2017-12-31" | dateInZone "2006-01-02 15:04 MST" "UTC" }}
=====
{{ htmlDate (toDate "2006-01-02" "2017-12-31") }}
=====
{{ htmlDateInZone (toDate "2006-01-02" "2017-12-31") "UTC" }}
=====
{{ date "2006" 0 }}
=====
{{ date "2006-01-02" 1500000000 }}
=====
{{ if toDate "2006-01-02" "2017-12-31" }}a{{ end }}
=====
{{ empty (toDate "2006-01-02" "2017-12-31") }}
=====
{{ eq (toDate "2006-01-02" "2017-12-31") (toDate "2006-01-02" "2017-12-31") }}
=====
{{ list (toDate "2006-01-02" "2017-12-31") }}
=====
{{ dict "a" (toDate "2006-01-02" "2017-12-31") | toJson }}
=====
{{ ((toDate "2006-01-02" "2017-12-31").AddDate 0 1 0).Format "2006-01-02" }}
=====
{{ (toDate "2006-01-02" "2017-12-31").Add 5 }}
=====
{{ ((toDate "2006-01-02" "2017-12-31").Sub (toDate "2006-01-02" "2017-12-30")) }}
=====
{{ (toDate "2006-01-02" "2017-12-31").After (toDate "2006-01-02" "2017-12-30") }}
=====
{{ (toDate "2006-01-02" "2017-12-31").Before (toDate "2006-01-02" "2017-12-30") }}
=====
{{ (toDate "2006-01-02" "2017-12-31").Equal (toDate "2006-01-02" "2017-12-31") }}
=====
{{ (toDate "2006-01-02" "2017-12-31").Foo }}
=====
{{ (toDate "2006-01-02" "2017-12-31").UnixMilli }}
=====
{{ (toDate "2006-01-02" "2017-12-31").Nanosecond }}
=====
{{ with toDate "2006-01-02" "2017-12-31" }}{{ .Year }}{{ end }}
=====
{{ len (toDate "2006-01-02" "2017-12-31") }}
=====
{{ range toDate "2006-01-02" "2017-12-31" }}a{{ end }}
=====
{{ print (toDate "2006-01-02" "2017-12-31") "a" }}
=====
{{ cat (toDate "2006-01-02" "2017-12-31") "a" }}
=====
{{ toDate "2006-01-02" "0001-01-01" | empty }}
=====
{{ if toDate "2006-01-02" "0001-01-01" }}a{{ else }}b{{ end }}
=====
{{ default "x" (toDate "2006-01-02" "zz") }}
=====
{{ (toDate "2006-01-02" "2017-12-31").Month }}
=====
{{ ((toDate "2006-01-02" "2024-01-31").AddDate 0 1 0).Format "2006-01-02" }}
=====
{{ ((toDate "2006-01-02" "2024-01-31").AddDate -1 -13 400).Format "2006-01-02" }}
=====
{{ $d := dict "v" (semver "1.2.3") "t" (toDate "2006-01-02" "2017-12-31") }}{{ toJson $d }}{{ print $d }}{{ toJson $d }}
